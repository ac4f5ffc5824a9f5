// What every page of a teammate runs, in this order; browsers get it in one piece.
import "../django_htmx/htmx-2.min.js";
import "./idiomorph.js";
import "./page.js";
import "./focus.js";
import "./live-place.js";
import "./live.js";
import "./queue.js";
import "./keys.js";
import "./notices.js";
import "./notify.js";
import "./palette.js";
import "./assistant.js";
import "./card.js";
