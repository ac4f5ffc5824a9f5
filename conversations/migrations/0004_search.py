from django.contrib.postgres.indexes import GinIndex, OpClass
from django.contrib.postgres.operations import BtreeGinExtension, TrigramExtension
from django.db import migrations, models

from conversations.words import Names, Words


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0003_lesson"),
    ]

    operations = [
        # Both come with PostgreSQL, and the owner of a database may add them.
        BtreeGinExtension(),
        TrigramExtension(),
        migrations.AddField(
            model_name="conversation",
            name="snoozed_until",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddIndex(
            model_name="conversation",
            index=models.Index(fields=["workspace", "-last_at", "-id"], name="conversation_newest"),
        ),
        migrations.AddIndex(
            model_name="conversation",
            index=models.Index(
                fields=["workspace", "channel", "status", "-last_at", "-id"], name="conversation_channel"
            ),
        ),
        migrations.AddIndex(
            model_name="customer",
            index=GinIndex(
                models.F("workspace"),
                OpClass(Names("name", "email", "subject"), "gin_trgm_ops"),
                name="customer_names",
            ),
        ),
        migrations.AddIndex(
            model_name="item",
            index=GinIndex(
                models.F("workspace"),
                Words("text"),
                condition=models.Q(("kind__in", ["customer", "agent", "team", "note"])),
                name="item_words",
            ),
        ),
    ]
