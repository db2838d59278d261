// Calls to the daemon, in the browser's session. The session's place is a part of every path; the cookie comes along by itself.

export const base = new URL('.', location.href).pathname;
const stored = `stretto ${base}`; // several daemons may be below one origin
let place = read();

function read() {
  try {
    return localStorage.getItem(stored) ?? '';
  } catch {
    return ''; // the browser keeps nothing: until the page is left
  }
}

function remember(value) {
  place = value;
  try {
    if (value === '') localStorage.removeItem(stored);
    else localStorage.setItem(stored, value);
  } catch {}
}

export class Problem extends Error {
  constructor(status, body) {
    super(body?.detail ?? `The daemon answered with status ${status}.`);
    this.status = status;
    this.code = body?.code ?? '';
  }
}

export const hasSession = () => place !== '';

// Another tab has logged in meanwhile.
export const isOutdated = () => read() !== place && read() !== '';

export const url = path => base + place + path;

export const events = path => new EventSource(url(path));

async function send(method, path, {body, headers, wait = 30000} = {}) {
  const options = {method, headers: {...headers}, cache: 'no-store', signal: AbortSignal.timeout(wait)};
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers['Content-Type'] = 'application/json';
  }
  const reply = await fetch(path, options);
  if (!reply.ok) throw new Problem(reply.status, await reply.json().catch(() => null));
  return reply;
}

export async function get(path) {
  return (await send('GET', url(path))).json();
}

export async function change(method, path, body) {
  const headers = {'Idempotency-Key': crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`};
  return (await send(method, url(path), {body, headers})).json();
}

// The last bytes of an output, and how many there are in all.
export async function tail(path, bytes) {
  const size = Number((await send('HEAD', url(path))).headers.get('Content-Length'));
  if (size === 0) return {text: '', size};
  return {text: await (await send('GET', url(path), {headers: {Range: `bytes=-${bytes}`}})).text(), size};
}

async function begin(body, headers) {
  const session = await (await send('POST', `${base}v1/sessions`, {body: {...body, path: base}, headers})).json();
  remember(session.place);
}

export const logInByLink = login => begin({login});

export const logInByToken = (token, role) => begin({role}, {Authorization: `Bearer ${token}`});

export async function logOut() {
  try {
    await change('DELETE', 'v1/sessions/current');
  } finally {
    remember('');
  }
}

export const forget = () => remember('');
