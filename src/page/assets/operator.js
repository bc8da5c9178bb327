// The client that the token belongs to, and the actions that it may perform. Every action is a call of the request API.

import {getJson, send, token} from './connection.js';

export class Operator {
  constructor() { this.client = null; }

  // Asks the server whose the token is. Throws Unauthorized if it is not valid.
  async identify() { this.client = token() ? await getJson('api/v1/client') : null; }

  get isAdmin() { return this.client?.scope === 'admin'; }

  // The actions on a record of a section: {label, title, text, reason, result, isHarmful, perform(reason)}. `reason`: the
  // name of a field for one; `result`: what has been done, if it is less than the action.
  actions(section, row, records) { return this.isAdmin && row ? (ACTIONS[section]?.(row, records) ?? []) : []; }

  // Why a client with a token has no actions in a section; '' if it has some, or if no client has.
  limitation(section) {
    return this.client && !this.isAdmin && section in ACTIONS ? `Scope ${this.client.scope}: no actions on this page, scope admin is needed.` : '';
  }
}

const ACTIONS = {nodes: nodeActions, requests: requestActions, images: imageActions};

// What happens to the machine. Only the launcher of the provider knows: it has a row of it.
function afterReclaim(provider, hasSlot) {
  if (!provider) return '';
  if (!provider.makes_machines) return ': its host becomes ready again';
  return hasSlot ? ': its slot on a machine becomes free' : ': its machine is deleted';
}

// A locked node is in use, or being launched or deleted. Nodes of a lease are locked, too, but can be taken out of it.
function nodeActions({id, state, lease, locked, request, provider, slot: hasSlot}, records) {
  const path = `api/v1/nodes/${encodeURIComponent(id)}`;
  if (state === 'deleting' || state === 'deleted' || (locked && !lease)) return [];
  const reclaimed = `reclaimed${afterReclaim(records.find('provider', provider), hasSlot)}`;
  const hold = {label: 'Hold', title: `Hold node ${id}?`, reason: 'Reason (optional)',
                text: 'It is kept for inspection until its hold is ended or it is deleted, and counts against the quota.',
                perform: (reason) => send('POST', `${path}/hold`, reason ? {reason} : {})};
  const endHold = {label: 'End hold', title: `End the hold of node ${id}?`, text: `The node is ${reclaimed}.`, isHarmful: true,
                   perform: () => send('DELETE', `${path}/hold`)};
  const release = lease && {label: 'Release', title: `Release node ${id}?`, isHarmful: true,
                            text: `The node is taken from ${lease.holder} and ${reclaimed}. The lease keeps its other nodes.`,
                            perform: () => send('DELETE', `api/v1/leases/${encodeURIComponent(lease.id)}?node=${encodeURIComponent(id)}`)};
  const remove = {label: 'Delete', title: `Delete node ${id}?`, isHarmful: true,
                  text: `The node is ${reclaimed}.${request && state !== 'hold' ? ` It is allocated to request ${request}.` : ''}`,
                  perform: () => send('DELETE', path)};
  if (lease) return [hold, release];
  return state === 'hold' ? [endHold, remove] : [hold, remove];
}

// Only requests of the API can be withdrawn; others belong to their sessions.
function requestActions({id, state, order}) {
  if (!order || state === 'failed') return [];
  return [{label: 'Withdraw', title: `Withdraw request ${id}?`, text: `${order.holder} gets no nodes.`, isHarmful: true,
           perform: () => send('DELETE', `api/v1/requests/${encodeURIComponent(id)}`)}];
}

function imageActions({id, paused, wanted, busy, builds, configured}, records) {
  const path = `api/v1/images/${encodeURIComponent(id)}`;
  const hasBuilder = records.all('component').some(({kind}) => kind === 'builder');
  const build = {label: 'Build', title: `Build image ${id}?`, result: hasBuilder ? 'requested' : 'requested, but no builder is registered',
                 text: hasBuilder ? 'A builder builds it now, and uploads it to its providers.'
                   : 'No builder is registered. The image is built when a builder starts whose configuration has it.',
                 perform: () => send('POST', `${path}/build`)};
  const pause = {label: 'Pause', title: `Pause image ${id}?`, text: 'It is not built until the pause is ended. Its builds are still uploaded and used.',
                 perform: () => send('POST', `${path}/pause`)};
  const unpause = {label: 'End pause', title: `End the pause of image ${id}?`, text: 'It is built again when it is due.',
                   perform: () => send('DELETE', `${path}/pause`)};
  if (paused) return configured?.paused ? [] : [unpause];
  return [...(wanted || busy ? [] : [build]), ...(builds?.length ? [pause] : [])];
}
