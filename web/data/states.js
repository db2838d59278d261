// The states of members in the order in which they are shown, and a sign for each state.
export const MEMBERS = ['succeeded', 'stopped', 'unfinished', 'failed', 'cancelled', 'running', 'submitted', 'pending'];

export const SIGNS = {
  pending: '○', submitted: '◔', running: '▶', succeeded: '✓', complete: '✓', done: '✓', failed: '✕', unfinished: '◐',
    stopped: '■', reached: '■', cancelled: '⊘',
  paused: '‖', timeout: '◐', lost: '?', ended: '■',
};
