"""Mails as their senders' programs write them, made of headers and a body."""

from email.message import EmailMessage as Letter
from email.utils import format_datetime

from mail.models import EmailChannel
from median_site.lib import clock

ADDRESS = "support@fernhill.example"


def letter(body: str = "Where is my order?", **headers: str) -> Letter:
    """A plain mail of Ana's; a header's name has _ for -, and "" leaves it out."""
    made = Letter()
    usual = {
        "From": "Ana Souza <ana@example.com>",
        "To": ADDRESS,
        "Subject": "My order",
        "Message_ID": "<1@example.com>",
    }
    usual["Date"] = format_datetime(clock.now())
    for name, value in {**usual, **headers}.items():
        if value:
            made[name.replace("_", "-")] = value
    made.set_content(body)
    return made


def answer_to(message_id: str, body: str, **headers: str) -> Letter:
    usual = {"In_Reply_To": f"<{message_id}>", "Subject": "Re: My order", "Message_ID": "<2@example.com>"}
    return letter(body, **{**usual, **headers})


def report(about: str, *, channel: EmailChannel, status: str = "5.1.1", action: str = "failed") -> bytes:
    """What a mail server writes when it could not deliver a mail of ours to Ana."""
    return f"""From: Mail Delivery System <MAILER-DAEMON@mx.example.com>
To: {channel.address}
Subject: Undelivered Mail
Message-ID: <dsn-{status}@mx.example.com>
Return-Path: <>
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="b"

--b
Content-Type: text/plain

I am sorry to inform you.

--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example.com

Final-Recipient: rfc822; ana@example.com
Action: {action}
Status: {status}
Diagnostic-Code: smtp; 550 5.1.1 No such user here

--b
Content-Type: text/rfc822-headers

Message-ID: <{about}>
Subject: Re: My order

--b--
""".replace("\n", "\r\n").encode()
