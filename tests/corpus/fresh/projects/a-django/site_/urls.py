from django.urls import path
from blog.views import home, post
urlpatterns=[path("", home), path("p/<int:n>", post)]
