/** DenyServiceExternalIPs: rejects new external addresses of services, with which a client that may write
 *  services could intercept traffic to any address (CVE-2020-8554). Source: upstream's plugin, release
 *  1.24. */
import type { Service } from '#api/gen/core-v1.ts';
import type { ApiObject } from '../resources/contract.ts';
import { typed } from '../resources/view.ts';
import type { AdmissionPlugin } from './contract.ts';
import { refusal } from './refusal.ts';

const addressesOf = (object: ApiObject | undefined): readonly string[] =>
  object === undefined ? [] : (typed<Service>(object).spec?.externalIPs ?? []);

export const denyServiceExternalIPs: AdmissionPlugin = {
  name: 'DenyServiceExternalIPs',
  operations: ['CREATE', 'UPDATE'],
  resources: new Set(['/services']),
  validate(request) {
    const before = new Set(addressesOf(request.old));
    if (addressesOf(request.object).every((address) => before.has(address))) return;
    throw refusal(request, 'Use of external IPs is denied by admission control.');
  },
};
