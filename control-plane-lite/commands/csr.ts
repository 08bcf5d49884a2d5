/** `control-plane-lite csr list|approve|deny`: certificate signing requests. Source: certificates, document 2
 *  §3. */

import { isMutableObject } from '#api/kit/object.ts';
import { formatTime } from '#api/meta/time.ts';
import type { ApiObject } from '../resources/contract.ts';
import { certificateSigningRequest } from '../resources/groups/certificates/certificate-signing-request.ts';
import { membersOf } from '../resources/view.ts';
import { type AdminClient, CommandError, memberAt } from './admin-client.ts';
import { formatTable } from './table.ts';

const HEADINGS = ['NAME', 'AGE', 'SIGNERNAME', 'REQUESTOR', 'CONDITION'];

const path = ({ vocabulary }: AdminClient): string =>
  `/apis/certificates.${vocabulary.apiGroupDomain}/v1/certificatesigningrequests`;

export async function listRequests(client: AdminClient, nowMs: number): Promise<string> {
  const { vocabulary } = client;
  const items = memberAt(await client.call('GET', path(client)), 'items');
  const rows = (Array.isArray(items) ? (items as readonly ApiObject[]) : []).map((item) =>
    (certificateSigningRequest.strategy.row?.(item, { nowMs, vocabulary }) ?? []).map(String),
  );
  return formatTable([HEADINGS, ...rows]);
}

/** @throws CommandError with the server's message */
export async function decideRequest(
  client: AdminClient,
  name: string,
  type: 'Approved' | 'Denied',
  nowMs: number,
): Promise<string> {
  const one = `${path(client)}/${encodeURIComponent(name)}`;
  const request = await client.call('GET', one);
  if (request === undefined)
    throw new CommandError(`there is no certificate request named ${JSON.stringify(name)}`);
  const status = membersOf(request, 'status');
  const conditions: readonly unknown[] = Array.isArray(status['conditions']) ? status['conditions'] : [];
  const done = `certificate request ${name} ${type.toLowerCase()}`;
  if (conditions.some((each) => isMutableObject(each) && each['type'] === type)) return done;
  const condition = {
    type,
    status: 'True',
    reason: 'AdministratorDecided',
    message: 'decided with control-plane-lite csr',
    lastUpdateTime: formatTime(nowMs),
  };
  status['conditions'] = [...conditions, condition];
  await client.call('PUT', `${one}/approval`, request);
  return done;
}
