// The event stream says that something has happened; what it is, is asked for. While the page is hidden it holds no
// connection, and when it is shown again it catches up.
import {EVENT_KINDS} from './tables.js';

const PAUSE = 1000; // between two looks, however many events there are
const RETRY = 3000;
const LATE = 8000; // a daemon that takes longer to answer may be stopped, or hang

export class Live {
  // look(): asks again, a promise. told(since): since when what is shown may be out of date; null: it is not.
  constructor(look, told) {
    this.look = look;
    this.told = told;
    document.addEventListener('visibilitychange', () => (document.hidden ? this.close() : this.connect()));
  }

  // open(): makes an EventSource. Values that change without an event, such as a rate, are read `every` so many
  // milliseconds. Resolves once the first look is over.
  async follow(open, every) {
    this.open = open;
    this.every = every;
    this.seen = Date.now();
    this.hasLooked = false;
    this.connect();
    await this.now();
  }

  stop() {
    this.close();
    this.open = null;
  }

  close() {
    this.source?.close();
    for (const timer of [this.beat, this.next, this.retry]) clearTimeout(timer);
    this.source = this.next = null;
  }

  connect() {
    this.close();
    if (document.hidden || !this.open) return;
    const source = this.open();
    this.source = source;
    this.beat = setInterval(() => this.soon(0), this.every);
    source.onopen = () => this.soon(0); // what happened before
    source.onerror = () => this.lost(source);
    // an EventSource hears only of the kinds that it is told of
    for (const kind of EVENT_KINDS) source.addEventListener(kind, () => this.soon(PAUSE));
  }

  // One that was interrupted comes back by itself; one that was refused does not.
  lost(source) {
    if (source !== this.source) return;
    this.soon(0);
    if (source.readyState === EventSource.CLOSED) this.retry = setTimeout(() => this.connect(), RETRY);
  }

  soon(after) {
    if (this.looking) this.again = true;
    else this.next ??= setTimeout(() => this.now(), after);
  }

  // If another view is followed meanwhile, that one is updated at once, and this call reports nothing more.
  async now() {
    const own = (this.latest = {});
    let good = true;
    this.next = null;
    this.again = false;
    this.looking = true;
    const late = setTimeout(() => own === this.latest && this.open && this.hasLooked && this.told(this.seen), LATE);
    try {
      await this.look();
    } catch {
      good = false;
    }
    clearTimeout(late);
    if (own !== this.latest) return;
    this.looking = false;
    if (good) [this.seen, this.hasLooked] = [Date.now(), true];
    if (!this.open) return;
    this.told(good ? null : this.seen);
    if (!good) this.soon(RETRY);
    else if (this.again) this.soon(PAUSE);
  }
}
