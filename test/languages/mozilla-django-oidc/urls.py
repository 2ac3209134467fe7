from django.http import HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect
from django.urls import include, path


def user(request):
    return JsonResponse({"email": request.user.email} if request.user.is_authenticated else {})


def renew(request):
    """The next page asks the provider again, with prompt=none."""
    request.session["oidc_id_token_expiration"] = 0
    return redirect("/")


def sign_out(request):
    token = f'<input type="hidden" name="csrfmiddlewaretoken" value="{get_token(request)}">'
    return HttpResponse(f'<form method="post" action="/oidc/logout/">{token}</form>')


urlpatterns = [
    path("", user),
    path("renew", renew),
    path("sign-out", sign_out),
    path("oidc/", include("mozilla_django_oidc.urls")),
]
