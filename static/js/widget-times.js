// The reader's own clock and calendar: times are printed in the server's zone, and days are named here.
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", hour12: false });
const date = new Intl.DateTimeFormat("en-GB", { weekday: "long", day: "numeric", month: "long" });

const dayNumber = (moment) => Math.floor((moment - moment.getTimezoneOffset() * 60_000) / 86_400_000);

function dayName(moment) {
  const ago = dayNumber(new Date()) - dayNumber(moment);
  return ago === 0 ? "Today" : ago === 1 ? "Yesterday" : date.format(moment);
}

export function localise(items) {
  let before = null;
  for (const item of items.children) {
    const moment = new Date(item.dataset.at);
    const day = dayNumber(moment);
    if (day === before) delete item.dataset.day; else item.dataset.day = dayName(moment);
    before = day;
    for (const time of item.querySelectorAll("time")) time.textContent = clock.format(new Date(time.dateTime));
  }
}
