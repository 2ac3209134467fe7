from django.http import HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.urls import include, path
from social_django.utils import load_strategy


def user(request):
    if not request.user.is_authenticated:
        return JsonResponse({})
    account = request.user.social_auth.get()
    return JsonResponse({"sub": account.uid, "email": request.user.email})


def sign_in(request):
    token = f'<input type="hidden" name="csrfmiddlewaretoken" value="{get_token(request)}">'
    return HttpResponse(f'<form method="post" action="/login/oidc/">{token}</form>')


def refresh(request):
    account = request.user.social_auth.get()
    before = account.access_token
    account.refresh_token(load_strategy(request))
    return JsonResponse({"before": before, "after": account.access_token})


urlpatterns = [
    path("", user),
    path("sign-in", sign_in),
    path("refresh", refresh),
    path("", include("social_django.urls", namespace="social")),
]
