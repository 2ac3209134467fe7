from base import *
from settings import *

INSTALLED_APPS += ["social_django"]
