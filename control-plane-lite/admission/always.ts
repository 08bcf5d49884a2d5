/** AlwaysAdmit and AlwaysDeny: deprecated plugins for tests. Source: upstream's plugins, release 1.24. */
import type { AdmissionPlugin, AdmissionRequest } from './contract.ts';
import { refusal } from './refusal.ts';

const OPERATIONS = ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'] as const;

export const alwaysAdmit: AdmissionPlugin = { name: 'AlwaysAdmit', operations: OPERATIONS };

function deny(request: AdmissionRequest): never {
  throw refusal(request, 'admission control is denying all modifications');
}

export const alwaysDeny: AdmissionPlugin = {
  name: 'AlwaysDeny',
  operations: OPERATIONS,
  mutate: deny,
  validate: deny,
};
