/** Service accounts: the default account of every namespace, the token volume of pods, tokens in secrets.
 *  Source: ServiceAccount, document 2 §2.7 and 5.2. */
import { describe, expect, test } from 'vitest';
import type { Pod, ServiceAccount, Volume } from '#api/gen/core-v1.ts';
import type { VocabularyName } from '#api/vocabulary.ts';
import { type Plane, usePlane, WAIT } from './support.ts';

const CONTAINER = { name: 'c', image: 'i' };
const ALL = ['--controllers=*'];

type Spec = NonNullable<Pod['spec']>;
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server made it
const specOf = (body: { readonly spec: unknown }): Spec => body.spec as Spec;

const pod = (name: string, spec: object = {}, metadata: object = {}) => ({
  metadata: { name, ...metadata },
  spec: { containers: [CONTAINER], ...spec },
});

function volumesOf(spec: Spec, words: Plane['words']): readonly Volume[] {
  return (spec.volumes ?? []).filter(({ name }) => name.startsWith(`${words.componentPrefix}-api-access-`));
}

describe.each<VocabularyName>(['plat', 'kubernetes'])('pods in the %s vocabulary', (vocabulary) => {
  const plane = usePlane(vocabulary, ALL);
  const { words } = plane;

  test('get the default account and its volume, in a new namespace', async () => {
    const at = await plane.namespace();
    const { status, body } = await plane.post(
      `${at}/pods`,
      pod('p', { initContainers: [{ name: 'first', image: 'i' }] }),
    );
    expect(status).toBe(201);
    const spec = specOf(body);
    expect(spec).toMatchObject({ serviceAccountName: 'default', serviceAccount: 'default' });
    const [volume] = volumesOf(spec, words);
    expect(volume?.name).toMatch(/-api-access-[a-z0-9]{5}$/);
    expect(volume).toEqual({
      name: volume?.name,
      projected: {
        defaultMode: 0o644,
        sources: [
          { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
          {
            configMap: {
              name: `${words.componentPrefix}-root-ca.crt`,
              items: [{ key: 'ca.crt', path: 'ca.crt' }],
            },
          },
          {
            downwardAPI: {
              items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
            },
          },
        ],
      },
    });
    const mount = {
      name: volume?.name,
      readOnly: true,
      mountPath: `/var/run/secrets/${words.domain}/serviceaccount`,
    };
    expect([...(spec.initContainers ?? []), ...spec.containers].map((each) => each.volumeMounts)).toEqual([
      [mount],
      [mount],
    ]);
    // The creator of the pod does not own fields that admission added.
    expect(JSON.stringify(body.metadata.managedFields)).not.toContain('api-access');
  });

  test('have an existing account, or are rejected', async () => {
    const at = await plane.namespace();
    const { status, body } = await plane.post(`${at}/pods`, pod('p', { serviceAccountName: 'nobody' }));
    expect([status, body.message]).toEqual([
      403,
      expect.stringContaining(
        `error looking up service account ${at.slice('/api/v1/namespaces/'.length)}/nobody: serviceaccount "nobody" not found`,
      ),
    ]);
  });

  test('get no volume where the account or the pod opts out', async () => {
    const at = await plane.namespace();
    const account = { metadata: { name: 'robot' }, automountServiceAccountToken: false };
    await plane.post(`${at}/serviceaccounts`, account);
    const serviceAccountName = 'robot';
    const made = await Promise.all([
      plane.post(`${at}/pods`, pod('a', { serviceAccountName })),
      plane.post(`${at}/pods`, pod('b', { serviceAccountName, automountServiceAccountToken: true })),
      plane.post(`${at}/pods`, pod('c', { automountServiceAccountToken: false })),
    ]);
    expect(made.map(({ body }) => volumesOf(specOf(body), words).length)).toEqual([0, 1, 0]);
  });

  test('get the account’s secrets for images unless they have their own', async () => {
    const at = await plane.namespace();
    await plane.post(`${at}/serviceaccounts`, {
      metadata: { name: 'robot' },
      imagePullSecrets: [{ name: 'registry' }],
    });
    const serviceAccountName = 'robot';
    const imagePullSecrets = [{ name: 'own' }];
    const first = await plane.post(`${at}/pods`, pod('a', { serviceAccountName }));
    const second = await plane.post(`${at}/pods`, pod('b', { serviceAccountName, imagePullSecrets }));
    expect([first, second].map(({ body }) => specOf(body).imagePullSecrets)).toEqual([
      [{ name: 'registry' }],
      [{ name: 'own' }],
    ]);
  });

  test('may have only secrets that the account lists, where it limits them', async () => {
    const at = await plane.namespace();
    await plane.post(`${at}/serviceaccounts`, {
      metadata: { name: 'robot', annotations: { [`${words.domain}/enforce-mountable-secrets`]: 'true' } },
      secrets: [{ name: 'listed' }],
    });
    const using = (secretName: string) => ({
      serviceAccountName: 'robot',
      volumes: [{ name: 'v', secret: { secretName } }],
    });
    const good = await plane.post(`${at}/pods`, pod('a', using('listed')));
    const bad = await plane.post(`${at}/pods`, pod('b', using('other')));
    expect([good.status, bad.status, bad.body.message]).toEqual([
      201,
      403,
      expect.stringContaining('service account robot does not reference that secret'),
    ]);
  });

  test('of files have no account, and no secrets', async () => {
    const at = await plane.namespace();
    const mirror = { annotations: { [words.configMirror]: 'hash' } };
    const good = await plane.post(`${at}/pods`, pod('a', { nodeName: 'n' }, mirror));
    const bad = await plane.post(`${at}/pods`, pod('b', { nodeName: 'n', serviceAccountName: 'x' }, mirror));
    expect([good.status, volumesOf(specOf(good.body), words).length, bad.status]).toEqual([201, 0, 403]);
  });
});

describe.each<VocabularyName>(['plat', 'kubernetes'])(
  'every namespace in the %s vocabulary',
  (vocabulary) => {
    const plane = usePlane(vocabulary, ALL);
    const { words } = plane;

    test('has the default account and the authority, which are restored after deletion', async () => {
      const at = await plane.namespace();
      const rootCa = `${at}/configmaps/${words.componentPrefix}-root-ca.crt`;
      const account = `${at}/serviceaccounts/default`;
      await expect.poll(async () => (await plane.get(account)).status, WAIT).toBe(200);
      const authority = async () => (await plane.get(rootCa)).body.data;
      const expected = { 'ca.crt': plane.server.credentials().ca };
      await expect.poll(authority, WAIT).toEqual(expected);
      const { uid } = (await plane.get(account)).body.metadata;
      await plane.delete(account);
      await plane.patch(rootCa, { data: { 'ca.crt': 'of another authority' } });
      await expect.poll(authority, WAIT).toEqual(expected);
      const uidNow = async () => (await plane.get(account)).body.metadata?.uid ?? uid;
      await expect.poll(uidNow, WAIT).not.toBe(uid);
    });

    test('has secrets for tokens filled, which let the account in and go with it', async () => {
      const at = await plane.namespace();
      const { body } = await plane.post(`${at}/serviceaccounts`, { metadata: { name: 'robot' } });
      const type = `${words.domain}/service-account-token`;
      const annotations = { [`${words.domain}/service-account.name`]: 'robot' };
      await plane.post(`${at}/secrets`, { metadata: { name: 's', annotations }, type });
      const secret = async () => (await plane.get(`${at}/secrets/s`)).body;
      await expect.poll(async () => (await secret()).data?.['token'] ?? '', WAIT).not.toBe('');
      const { data, metadata } = await secret();
      expect(metadata.annotations?.[`${words.domain}/service-account.uid`]).toBe(body.metadata.uid);
      const text = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString();
      const namespace = at.slice('/api/v1/namespaces/'.length);
      expect([text('namespace'), text('ca.crt')]).toEqual([namespace, plane.server.credentials().ca]);
      const asRobot = plane.as(text('token'));
      const review = { apiVersion: `authorization.${words.apiGroupDomain}/v1`, spec: { namespace } };
      const requested = await asRobot.post(plane.path('authorization/v1', 'selfsubjectrulesreviews'), review);
      expect(requested.status).toBe(201);
      await plane.delete(`${at}/serviceaccounts/robot`);
      await expect.poll(async () => (await plane.get(`${at}/secrets/s`)).status, WAIT).toBe(404);
      expect((await asRobot.get('/api')).status).toBe(401);
    });
  },
);

describe('without the gate against it', () => {
  const plane = usePlane('kubernetes', [
    ...ALL,
    '--feature-gates=LegacyServiceAccountTokenNoAutoGeneration=false',
  ]);

  test('every account has one Secret with a token, and another one when that is deleted', async () => {
    const at = await plane.namespace();
    await plane.post(`${at}/serviceaccounts`, { metadata: { name: 'robot' }, secrets: [{ name: 'own' }] });
    const listed = async (): Promise<readonly string[]> => {
      const { body } = await plane.get(`${at}/serviceaccounts/robot`);
      return (body as unknown as ServiceAccount).secrets?.map(({ name = '' }) => name) ?? [];
    };
    await expect.poll(async () => (await listed()).length, WAIT).toBe(2);
    const [own, first = ''] = await listed();
    expect([own, first]).toEqual(['own', expect.stringMatching(/^robot-token-/)]);
    const token = async (name: string) => (await plane.get(`${at}/secrets/${name}`)).body.data?.['token'];
    await expect.poll(() => token(first), WAIT).toBeTypeOf('string');
    await plane.delete(`${at}/secrets/${first}`);
    await expect.poll(listed, WAIT).not.toContain(first);
    await expect.poll(async () => (await listed()).length, WAIT).toBe(2);
    await plane.delete(`${at}/serviceaccounts/robot`);
    await expect
      .poll(async () => {
        const { items } = (await plane.get(`${at}/secrets`)).body as unknown as { items: readonly ApiName[] };
        return items.filter(({ metadata: { name } }) => name.startsWith('robot-'));
      }, WAIT)
      .toEqual([]);
  });
});

interface ApiName {
  readonly metadata: { readonly name: string };
}
