"""An index that leads with a customer, an assignee or a conversation is the foreign key's too: two did the work of one.
Nothing waits meanwhile: indexes are built and dropped beside the writes."""

import django.db.models.deletion
from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models

CASCADE, SET_NULL = django.db.models.deletion.CASCADE, django.db.models.deletion.SET_NULL
# The indexes that Django made for the foreign keys: table, column and name.
DROPPED = [
    ("conversation", "customer", "conversations_conversation_customer_id_afb78c4a"),
    ("conversation", "assignee", "conversations_conversation_assignee_id_e845f644"),
    ("item", "conversation", "conversations_item_conversation_id_de983b46"),
]


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("conversations", "0012_one_index_for_workspaces")]

    operations = [
        AddIndexConcurrently(
            "conversation", models.Index(fields=["customer", "-last_at"], name="conversation_of_customer")
        ),
        AddIndexConcurrently(
            "conversation",
            models.Index(
                fields=["assignee", "-last_at", "-id"],
                name="conversation_of_assignee",
                condition=models.Q(assignee__isnull=False),
            ),
        ),
        AddIndexConcurrently("item", models.Index(fields=["conversation", "version"], name="item_of_conversation")),
        RemoveIndexConcurrently("conversation", "conversation_by_customer"),
        RemoveIndexConcurrently("conversation", "conversation_mine_any"),
        RemoveIndexConcurrently("item", "item_changed_since"),
        # Not by AlterField alone, which makes the foreign key anew and checks every row.
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    f"drop index concurrently if exists {index}",
                    f"create index concurrently {index} on conversations_{name} ({column}_id)",
                )
                for name, column, index in DROPPED
            ],
            state_operations=[
                migrations.AlterField(
                    "conversation",
                    "customer",
                    models.ForeignKey("conversations.customer", CASCADE, related_name="conversations", db_index=False),
                ),
                migrations.AlterField(
                    "conversation",
                    "assignee",
                    models.ForeignKey(
                        "team.teammate", SET_NULL, null=True, blank=True, related_name="+", db_index=False
                    ),
                ),
                migrations.AlterField(
                    "item",
                    "conversation",
                    models.ForeignKey("conversations.conversation", CASCADE, related_name="items", db_index=False),
                ),
            ],
        ),
    ]
