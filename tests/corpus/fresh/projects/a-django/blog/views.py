from django.http import HttpResponse


def home(r):
    return HttpResponse("hello", status=200)


def post(r, n):
    return HttpResponse(POSTS[n])
