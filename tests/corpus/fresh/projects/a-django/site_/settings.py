SECRET_KEY="x"
DEBUG=True
INSTALLED_APPS=["blog","django.contrib.contenttypes","django.contrib.auth"]
ROOT_URLCONF="site_.urls"
DATABASES={"default":{"ENGINE":"django.db.backends.sqlite3","NAME":":memory:"}}
USE_TZ=True
DEFAULT_AUTO_FIELD="django.db.models.AutoField"
