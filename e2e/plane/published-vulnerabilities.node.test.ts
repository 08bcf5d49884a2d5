/** Published vulnerabilities of upstream's API server that no other test covers (`docs/security.md`). */
import { writeFile } from 'node:fs/promises';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { API_ALONE, startTestPlane } from '#plane/main.fixture.ts';
import { createTempDir } from '../../testing/temp.ts';
import { define } from './definitions.ts';
import { usePlane } from './support.ts';

describe('CVE-2022-3162: custom resources of one group', () => {
  const plane = usePlane();

  test('a continue token with the key of another kind shows only objects of its own', async () => {
    const plums = await define(plane, { plural: 'plums' });
    const trees = await define(plane, { plural: 'plumtrees' });
    await plums.create('a');
    await trees.create('hidden');
    const page = await plane.get(`${plums.collection()}?limit=1`);
    const rv = Number(page.body.metadata.resourceVersion);
    const keys = ['../plumtrees/default/a', '../plumtrees/', 'trees/default/a', 'default/../../plumtrees/a'];
    for (const start of keys) {
      const token = { v: `meta.${plane.words.apiGroupDomain}/v1`, rv, start };
      const encoded = Buffer.from(JSON.stringify(token)).toString('base64url');
      const { status, text } = await plane.get(`${plums.collection()}?limit=9&continue=${encoded}`);
      expect([start, [200, 400].includes(status), text.includes('hidden')]).toEqual([start, true, false]);
    }
  });
});

// CVE-2019-11250, CVE-2020-8563, CVE-2020-8564, CVE-2020-8565, CVE-2020-8566
test('the most verbose log contains neither tokens nor Secrets', async () => {
  await using dir = await createTempDir('na-verbose-');
  await writeFile(`${dir.path}/tokens`, 'static-hunter2,ann,1,"system:masters"\n');
  const lines: string[] = [];
  const sink = new Writable({
    write: (chunk: Buffer, _, done) => {
      lines.push(chunk.toString());
      done();
    },
  });
  const flags = [...API_ALONE, '--token-auth-file', `${dir.path}/tokens`, '-v=10'];
  await using plane = await startTestPlane(flags, pino({ level: 'trace' }, sink));
  const headers = { authorization: 'Bearer static-hunter2' };
  const namespace = '/api/v1/namespaces/default';
  const data = Buffer.from('secret-hunter2').toString('base64');
  const send = async (path: string, body: object): Promise<string> => {
    const { status, text } = await plane.call('POST', path, { body, headers, anonymous: true });
    expect([path, status]).toEqual([path, 201]);
    return text;
  };
  await send(`${namespace}/secrets`, { metadata: { name: 's' }, data: { password: data } });
  await send(`${namespace}/serviceaccounts`, { metadata: { name: 'robot' } });
  const issued = await send(`${namespace}/serviceaccounts/robot/token`, { spec: {} });
  const { token } = (JSON.parse(issued) as { status: { token: string } }).status;
  const own = { authorization: `Bearer ${token}` };
  expect((await plane.call('GET', '/version', { headers: own, anonymous: true })).status).toBe(200);
  const bad = { authorization: 'Bearer wrong-hunter2' };
  expect((await plane.call('GET', '/version', { headers: bad, anonymous: true })).status).toBe(401);

  const log = lines.join('');
  expect(log.length).toBeGreaterThan(0);
  for (const secret of ['hunter2', data, token, token.split('.')[2] ?? '']) expect(log).not.toContain(secret);
});
