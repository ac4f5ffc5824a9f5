"""Every setting of the installation, read from the environment (names start with MEDIAN_) and from nowhere else."""

from pathlib import Path

from median_site.lib import env
from median_site.lib.templating import ENVIRONMENT

BASE_DIR = Path(__file__).resolve().parent.parent

DEBUG = env.flag("MEDIAN_DEBUG", default=False)
SECRET_KEY = env.text("MEDIAN_SECRET_KEY")
# The address people and endpoints reach this installation at; the issuer of every signed token starts with it.
MEDIAN_URL = env.url("MEDIAN_URL", default="http://127.0.0.1:8000")
ALLOWED_HOSTS = env.csv("MEDIAN_ALLOWED_HOSTS", default=["localhost", "127.0.0.1"])
HTTPS = MEDIAN_URL.startswith("https://")

# Networks that tool endpoints may live in although their addresses are not public (a development machine, an intranet).
MEDIAN_ALLOWED_NETWORKS = env.networks("MEDIAN_ALLOWED_NETWORKS")
MEDIAN_MODEL_URL = env.text("MEDIAN_MODEL_URL", default="")
MEDIAN_MODEL_KEY = env.text("MEDIAN_MODEL_KEY", default="")
MEDIAN_MODEL_NAME = env.text("MEDIAN_MODEL_NAME", default="")
# What the model reads, in characters, and how long it may take for one answer, in seconds.
MEDIAN_MODEL_CONTEXT = env.integer("MEDIAN_MODEL_CONTEXT", default=200_000, minimum=10_000)
MEDIAN_MODEL_DEADLINE = env.integer("MEDIAN_MODEL_DEADLINE", default=60, minimum=1)
# Write-ups may have a cheaper model; the agent's key never goes to another address.
MEDIAN_WRITEUP_URL = env.text("MEDIAN_WRITEUP_URL", default=MEDIAN_MODEL_URL)
MEDIAN_WRITEUP_KEY = env.text(
    "MEDIAN_WRITEUP_KEY", default=MEDIAN_MODEL_KEY if MEDIAN_WRITEUP_URL == MEDIAN_MODEL_URL else ""
)
MEDIAN_WRITEUP_NAME = env.text("MEDIAN_WRITEUP_NAME", default=MEDIAN_MODEL_NAME)
# The reviewer may have a model of its own, and should: what fools one model may not fool another.
MEDIAN_REVIEWER_URL = env.text("MEDIAN_REVIEWER_URL", default=MEDIAN_MODEL_URL)
MEDIAN_REVIEWER_KEY = env.text(
    "MEDIAN_REVIEWER_KEY", default=MEDIAN_MODEL_KEY if MEDIAN_REVIEWER_URL == MEDIAN_MODEL_URL else ""
)
MEDIAN_REVIEWER_NAME = env.text("MEDIAN_REVIEWER_NAME", default=MEDIAN_MODEL_NAME)
# And for what teammates ask the assistant.
MEDIAN_ASSISTANT_URL = env.text("MEDIAN_ASSISTANT_URL", default=MEDIAN_MODEL_URL)
MEDIAN_ASSISTANT_KEY = env.text(
    "MEDIAN_ASSISTANT_KEY", default=MEDIAN_MODEL_KEY if MEDIAN_ASSISTANT_URL == MEDIAN_MODEL_URL else ""
)
MEDIAN_ASSISTANT_NAME = env.text("MEDIAN_ASSISTANT_NAME", default=MEDIAN_MODEL_NAME)
# Where Slack and Discord are; others only to try them against a server of one's own.
MEDIAN_SLACK_API = env.url("MEDIAN_SLACK_API", default="https://slack.com/api")
MEDIAN_DISCORD_API = env.url("MEDIAN_DISCORD_API", default="https://discord.com/api/v10")
MEDIAN_REDIS_URL = env.text("MEDIAN_REDIS_URL", default="")
# Touched by a scheduled job, so that a supervisor can tell a hanging job cluster from a quiet one.
MEDIAN_CLUSTER_BEAT = env.text("MEDIAN_CLUSTER_BEAT", default="")

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "anymail",
    "django_htmx",
    "django_q",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "team",
    "conversations",
    "tools",
    "webhooks",
    "mail",
    "discord",
    "approvals",
    "notifications",
    "agent",
    "median_site",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.gzip.GZipMiddleware",
    "median_site.lib.headers.security_headers",
    "median_site.api.gate.api_gate",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "median_site.lib.errors.DomainErrorMiddleware",
]

ROOT_URLCONF = "median_site.urls"
ASGI_APPLICATION = "median_site.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.jinja2.Jinja2",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "environment": ENVIRONMENT,
            "autoescape": True,
            "context_processors": ["median_site.dashboard.account.rail"],
        },
    },
    {  # For the packages that bring Django templates of their own.
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates" / "django"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    },
]

DATABASES = {"default": env.database_url("MEDIAN_DATABASE_URL")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# The statements of median_site.lib.statement are planned once a connection.
DATABASES["default"]["OPTIONS"]["prepare_threshold"] = 0
if env.flag("MEDIAN_DATABASE_POOL", default=False):
    # For processes with many threads (web, agent). The job cluster forks and must not share sockets. One more than
    # lib.db has threads, so that a sign of life waits for none of them.
    DATABASES["default"]["OPTIONS"]["pool"] = {"min_size": 2, "max_size": 11, "timeout": 10}

if MEDIAN_REDIS_URL:
    CACHES: dict[str, dict[str, object]] = {
        "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": MEDIAN_REDIS_URL}
    }
else:
    CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.db.DatabaseCache",
            "LOCATION": "median_cache",
            "OPTIONS": {"MAX_ENTRIES": 100_000},  # sign-in limits live here, and culling would forget them
        }
    }

CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "median_site.lib.layer.RedisChannelLayer"
        if MEDIAN_REDIS_URL
        else "median_site.lib.layer.PostgresChannelLayer"
    }
}

AUTH_USER_MODEL = "team.User"
SILENCED_SYSTEM_CHECKS = [
    "auth.W004",  # emails are unique whatever their case, which this check cannot see
    "security.W002",  # median_site.lib.headers refuses frames
]
AUTHENTICATION_BACKENDS = ["team.sign_in.Backend"]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_ADAPTER = "team.sign_in.AccountAdapter"
MFA_TOTP_TOLERANCE = 1  # a code that was still shown when one began to type it
MFA_ADAPTER = "team.sign_in.MFAAdapter"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes", "webauthn"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_ALLOW_UNVERIFIED_EMAIL = True  # an invitation is what proves an address here
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not HTTPS  # browsers allow it on localhost alone
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_LOGOUT_ON_GET = False
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/inbox/"
# How mail leaves: teammates' password links and, where a workspace has an address, replies to its customers.
EMAIL_BACKEND = env.text("MEDIAN_EMAIL_BACKEND", default="django.core.mail.backends.console.EmailBackend")
EMAIL_HOST = env.text("MEDIAN_EMAIL_HOST", default="localhost")
EMAIL_PORT = env.integer("MEDIAN_EMAIL_PORT", default=25, minimum=1, maximum=65_535)
EMAIL_HOST_USER = env.text("MEDIAN_EMAIL_USER", default="")
EMAIL_HOST_PASSWORD = env.text("MEDIAN_EMAIL_PASSWORD", default="")
EMAIL_USE_TLS = env.flag("MEDIAN_EMAIL_STARTTLS", default=False)
EMAIL_USE_SSL = env.flag("MEDIAN_EMAIL_TLS", default=False)
EMAIL_TIMEOUT = 30
DEFAULT_FROM_EMAIL = env.text("MEDIAN_EMAIL_FROM", default="Median <median@localhost>")
# The settings of a mail service, as django-anymail names them; its webhooks are open only with their secret.
ANYMAIL = env.mapping("MEDIAN_ANYMAIL")

SESSION_ENGINE = "team.session_store"
SESSION_COOKIE_NAME = "median_session"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_NAME = "median_csrf"
CSRF_FAILURE_VIEW = "median_site.lib.errors.csrf_failure"
CSRF_TRUSTED_ORIGINS = [MEDIAN_URL] if HTTPS else []
BEHIND_PROXY = env.flag("MEDIAN_BEHIND_PROXY", default=False)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_PROXY else None
# Whose X-Forwarded-For is believed; limits count by address.
MEDIAN_TRUSTED_PROXIES = env.networks(
    "MEDIAN_TRUSTED_PROXIES",
    default=["127.0.0.0/8", "::1", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"] if BEHIND_PROXY else [],
)
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_SSL_REDIRECT = HTTPS
SECURE_REFERRER_POLICY = "same-origin"
DATA_UPLOAD_MAX_MEMORY_SIZE = 2_500_000
DATA_UPLOAD_MAX_NUMBER_FIELDS = 5_000  # a list of a run form has two for each item

Q_CLUSTER = {
    "name": "median",
    "orm": "default",
    "workers": 4,  # expiry is not to wait for two jobs that take long, such as mailboxes that hang
    "queue_limit": 1,
    "bulk": 1,
    "timeout": 120,
    "retry": 600,
    "max_attempts": 3,
    "ack_failures": False,
    "poll": 1,
    "catch_up": False,
    "save_limit": 250,
}

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "median_site.lib.assets.Addresses"},
}

LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"tokens": {"()": "median_site.lib.logs.WithoutTokens"}},
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": env.text("MEDIAN_LOG_LEVEL", default="INFO")},
    "loggers": {
        "django.request": {"filters": ["tokens"]},
        "mcp": {"level": "WARNING"},  # its package tells of the beginning and end of every request
    },
}
