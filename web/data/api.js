// Calls to the daemon, in the browser's session. The session's place is a part of every path; the cookie comes along by
// itself.

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

const calls = new Set(); // that are under way

// take(reply): what of the reply is wanted, a promise.
async function send(method, path, take, {body, headers, wait = 30000} = {}) {
  const call = new AbortController(), timer = setTimeout(() => call.abort(), wait);
  const options = {method, headers: {...headers}, cache: 'no-store', signal: call.signal};
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers['Content-Type'] = 'application/json';
  }
  calls.add(call);
  try {
    const reply = await fetch(path, options);
    if (!reply.ok) throw new Problem(reply.status, await reply.json().catch(() => null));
    return await take(reply);
  } finally {
    clearTimeout(timer);
    calls.delete(call);
  }
}

const json = reply => reply.json();

export const get = path => send('GET', url(path), json);

// Asks for something other than JSON, with its headers; it may take a while.
export function bytes(path) {
  const take = async reply => ({bytes: new Uint8Array(await reply.arrayBuffer()), headers: reply.headers});
  return send('GET', url(path), take, {wait: 120000});
}

export function change(method, path, body) {
  const headers = {'Idempotency-Key': crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`};
  return send(method, url(path), json, {body, headers});
}

// Returns the number of bytes. An answer to HEAD has no body, so that after a refusal the same is asked for again, to
// get its text.
async function sizeOf(path) {
  try {
    return await send('HEAD', url(path), reply => Number(reply.headers.get('Content-Length')));
  } catch (problem) {
    if (problem.status === 404 || problem.status === 410) await get(path);
    throw problem;
  }
}

// The last bytes of an output, and how many there are in all.
export async function tail(path, bytes) {
  const size = await sizeOf(path);
  if (size === 0) return {text: '', size};
  return {text: await send('GET', url(path), reply => reply.text(), {headers: {Range: `bytes=-${bytes}`}}), size};
}

async function begin(body, headers) {
  const session = await send('POST', `${base}v1/sessions`, json, {body: {...body, path: base}, headers});
  remember(session.place);
}

export const logInByLink = login => begin({login});

export const logInByToken = (token, role) => begin({role}, {Authorization: `Bearer ${token}`});

// Requests that are still under way are given up, since they would fail without the session.
export async function logOut() {
  for (const call of calls) call.abort();
  try {
    await change('DELETE', 'v1/sessions/current');
  } finally {
    remember('');
  }
}

export const forget = () => remember('');
