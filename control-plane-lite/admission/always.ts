/** AlwaysAdmit and AlwaysDeny: deprecated plugins for tests. Source: upstream's plugins, release 1.24. */
import { isServerUser } from '../authn/users.ts';
import type { AdmissionPlugin, AdmissionRequest } from './contract.ts';
import { refusal } from './refusal.ts';

const OPERATIONS = ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'] as const;

export const alwaysAdmit: AdmissionPlugin = { name: 'AlwaysAdmit', operations: OPERATIONS };

/** Not the server's own requests: it could not start without its first objects. */
function deny(request: AdmissionRequest): void {
  if (isServerUser(request.user)) return;
  throw refusal(request, 'admission control is denying all modifications');
}

export const alwaysDeny: AdmissionPlugin = {
  name: 'AlwaysDeny',
  operations: OPERATIONS,
  mutate: deny,
  validate: deny,
};
