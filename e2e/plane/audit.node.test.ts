/** The audit log. Document 1 §9.4; the policy and the events have upstream's form. */
import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { eventually } from '../../testing/wait.ts';
import { configMap, type Json, usePlane, WAIT } from './support.ts';

interface AuditEvent {
  readonly kind: string;
  readonly apiVersion: string;
  readonly level: string;
  readonly auditID: string;
  readonly stage: string;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: Json;
  readonly objectRef?: Json;
  readonly responseStatus?: Json;
  readonly requestObject?: Json;
  readonly responseObject?: Json;
  readonly annotations?: Json;
}

const POLICY = `
apiVersion: audit.${VOCABULARIES.plat.apiGroupDomain}/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: None
    resources: [{group: "", resources: [pods]}]
  - level: RequestResponse
    resources: [{group: "", resources: [configmaps]}]
    verbs: [create]
  - level: Request
    resources: [{group: "", resources: [configmaps]}]
    verbs: [update]
  - level: None
    nonResourceURLs: ["/readyz*", "/livez*"]
  - level: Metadata
`;

describe('the audit log', () => {
  let file = '';
  const plane = usePlane('plat', async (dir) => {
    file = `${dir}/audit.log`;
    await writeFile(`${dir}/policy.yaml`, POLICY);
    await writeFile(`${dir}/tokens`, 'ann-token,ann,1,"dev"\n');
    return [
      `--audit-log-path=${file}`,
      `--audit-policy-file=${dir}/policy.yaml`,
      `--token-auth-file=${dir}/tokens`,
    ];
  });
  /** Without the last line as long as it is being written. */
  const all = async (): Promise<readonly AuditEvent[]> =>
    (await readFile(file, 'utf8'))
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as AuditEvent);
  /** Returns the event of the response with this `Audit-Id` once it has been written. */
  const eventOf = (headers: Readonly<Record<string, string | string[] | undefined>>): Promise<AuditEvent> =>
    eventually(async () => (await all()).find(({ auditID }) => auditID === headers['audit-id']));

  test('every response has an Audit-Id, which the event carries', async () => {
    const event = await eventOf((await plane.get('/api/v1/nodes')).headers);
    expect(event).toMatchObject({
      kind: 'Event',
      apiVersion: `audit.${plane.words.apiGroupDomain}/v1`,
      level: 'Metadata',
      stage: 'ResponseComplete',
      requestURI: '/api/v1/nodes',
      verb: 'list',
      sourceIPs: ['127.0.0.1'],
      objectRef: { resource: 'nodes', apiVersion: 'v1' },
      responseStatus: { code: 200 },
      requestReceivedTimestamp: expect.stringMatching(/^\d{4}-.*\.\d{6}Z$/) as string,
      stageTimestamp: expect.stringMatching(/Z$/) as string,
    });
    expect(event.user['groups']).toContain('system:masters');
    expect(event).not.toHaveProperty('requestObject');
  });

  test('a client may choose the id', async () => {
    const { headers } = await plane.get('/api/v1/nodes', { 'audit-id': 'mine-1' });
    expect(headers['audit-id']).toBe('mine-1');
  });

  test('levels: with both bodies, with the request’s, with neither, none', async () => {
    const path = `${await plane.namespace()}/configmaps`;
    const created = await eventOf((await plane.post(path, configMap('a'))).headers);
    expect(created).toMatchObject({
      level: 'RequestResponse',
      verb: 'create',
      requestObject: { kind: 'ConfigMap', data: { value: '1' } },
      responseObject: { kind: 'ConfigMap', metadata: { name: 'a', uid: expect.any(String) as string } },
      responseStatus: { code: 201 },
    });
    const updated = await eventOf((await plane.put(`${path}/a`, configMap('a', '2'))).headers);
    expect(updated).toMatchObject({
      level: 'Request',
      verb: 'update',
      requestObject: { data: { value: '2' } },
    });
    expect(updated).not.toHaveProperty('responseObject');
    const deleted = await eventOf((await plane.delete(`${path}/a`)).headers);
    expect(deleted).toMatchObject({ level: 'Metadata', verb: 'delete', objectRef: { name: 'a' } });
    expect(deleted).not.toHaveProperty('requestObject');
    const none = (await plane.get(path.replace('configmaps', 'pods'))).headers['audit-id'];
    await eventOf((await plane.get('/api/v1/nodes')).headers);
    expect((await all()).some(({ auditID }) => auditID === none)).toBe(false);
  });

  test('stages that are left out do not appear', async () => {
    await eventOf((await plane.get('/api/v1/nodes')).headers);
    expect((await all()).some(({ stage }) => stage === 'RequestReceived')).toBe(false);
  });

  test('refusals are recorded, with who was refused and why', async () => {
    const refused = await plane.as('ann-token').get('/api/v1/secrets');
    expect(await eventOf(refused.headers)).toMatchObject({
      user: { username: 'ann' },
      responseStatus: { code: 403, reason: 'Forbidden' },
      annotations: { [`authorization.${plane.words.apiGroupDomain}/decision`]: 'forbid' },
    });
    expect(await eventOf((await plane.get('/api/v1/nodes')).headers)).toMatchObject({
      annotations: { [`authorization.${plane.words.apiGroupDomain}/decision`]: 'allow' },
    });
    const unknown = await plane.as('guess').get('/api/v1/secrets');
    const event = await eventOf(unknown.headers);
    expect(event).toMatchObject({ responseStatus: { code: 401 } });
    expect(JSON.stringify(event)).not.toContain('guess');
  });

  test('an impersonating user is recorded with both identities', async () => {
    const { headers } = await plane.get('/api/v1/nodes', { 'impersonate-user': 'jane' });
    expect(await eventOf(headers)).toMatchObject({
      user: { groups: expect.arrayContaining(['system:masters']) as unknown },
      impersonatedUser: { username: 'jane' },
    });
  });

  test('a watch is recorded when it begins and when it ends', async () => {
    const path = `${await plane.namespace()}/secrets?watch=1`;
    const stream = await plane.watch(path);
    const id = stream.headers['audit-id'];
    const stages = async (): Promise<readonly string[]> =>
      (await all()).filter(({ auditID }) => auditID === id).map(({ stage }) => stage);
    await expect.poll(stages, WAIT).toEqual(['ResponseStarted']);
    stream.close();
    await expect.poll(stages, WAIT).toEqual(['ResponseStarted', 'ResponseComplete']);
  });
});
