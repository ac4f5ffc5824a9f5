"""Django's sessions in the database, read by a statement whose plan the server keeps: every request begins with it."""

from typing import Final

from django.contrib.sessions.backends import db

from median_site.lib import clock
from median_site.lib.statement import fetch

_READ: Final = "select session_data from django_session where session_key = %s and expire_date > %s"


class SessionStore(db.SessionStore):
    def load(self) -> dict[str, object]:
        found = fetch(_READ, self.session_key, clock.now())
        if not found:
            self._session_key = None
        return self.decode(str(found[0][0])) if found else {}
