/** Manifests with several documents and kinds, and the identity of their pods. */
import { writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import { configMap, hasPhase, pod, secret, sh, useHarness, WAIT } from './support.ts';

describe.concurrent('manifests', () => {
  const harness = useHarness();

  const says = (name: string, word: string, more = '') =>
    pod(name, { containers: [sh('c', `echo ${word}; ${WAIT}`)], ...(more === '' ? {} : { hostname: more }) });

  test('static identity: name with the node, uid from the content, source and hash', async () => {
    await harness.agent.put('static.json', says('static', 'one'));
    const found = await harness.agent.waitFor('static', isReady);
    const { name, uid, annotations = {} } = found.metadata ?? {};
    expect(name).toBe('static-n1');
    expect(uid).toMatch(/^[0-9a-f]{32}$/);
    expect(found.spec?.nodeName).toBe('n1');
    const values: Readonly<Record<string, string>> = Object.fromEntries(
      Object.entries(annotations).map(([key, value]) => [key.split('/')[1] ?? '', value] as const),
    );
    expect(values).toMatchObject({ 'config.source': 'file', 'config.hash': uid ?? '' });
    expect(Date.parse(values['config.seen'] ?? '')).toBeGreaterThan(0);
    // The same content again is the same pod.
    await harness.agent.put('static.json', says('static', 'one'));
    await harness.agent.put('marker.json', says('marker', 'x'));
    await harness.agent.waitFor('marker', isReady);
    expect((await harness.agent.pod('static'))?.metadata?.uid).toBe(uid);
  });

  test('two manifests with the same pod: the first runs, the other is reported', async () => {
    await harness.agent.put('a-same.json', says('same', 'first'));
    await harness.agent.waitFor('same', isReady);
    await harness.agent.put('b-same.json', says('same', 'second'));
    expect(await harness.event('same', 'ManifestConflict')).toMatch(
      /b-same\.json, document 1 is ignored: .*a-same\.json/,
    );
    expect(await harness.logs('same', 'c')).toBe('first\n');
    await harness.agent.drop('a-same.json');
    await eventually(async () => (await harness.logs('same', 'c')) === 'second\n', { timeoutMs: 20_000 });
  });

  test('several documents and lists in one file, in YAML and JSON', async () => {
    const list = {
      apiVersion: 'v1',
      kind: 'List',
      items: [JSON.parse(says('in-list', 'x')) as object, JSON.parse(configMap('in-list', {})) as object],
    };
    await harness.agent.put(
      'docs.yaml',
      `${says('doc-one', 'x')}\n---\n${says('doc-two', 'x')}\n---\n${JSON.stringify(list)}`,
    );
    await harness.agent.put(
      'podlist.json',
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'PodList',
        items: [JSON.parse(says('in-podlist', 'x')) as object],
      }),
    );
    for (const name of ['doc-one', 'doc-two', 'in-list', 'in-podlist']) {
      expect(isReady(await harness.agent.waitFor(name, isReady))).toBe(true);
    }
  });

  test('a bad document beside a good one is reported with file, document and field', async () => {
    const bad = JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'bad' },
      spec: { containers: [{ name: 'No Name', image: 'x' }] },
    });
    await harness.agent.put('mixed.yaml', `${says('good', 'x')}\n---\n${bad}`);
    await harness.agent.waitFor('good', isReady);
    const message = await harness.event('bad', 'ManifestRejected');
    expect(message).toMatch(/mixed\.yaml, document 2: spec\.containers\[0\]\.name.*No Name/);
  });

  test('ConfigMap, Secret, PersistentVolume and claim beside the pod that uses them', async () => {
    await harness.agent.put(
      'pv.json',
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: 'disk' },
        spec: {
          capacity: { storage: '1Gi' },
          accessModes: ['ReadWriteOnce'],
          hostPath: { path: harness.agent.folder, type: 'Directory' },
        },
      }),
    );
    await harness.agent.put(
      'pvc.json',
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'claim' },
        spec: {
          volumeName: 'disk',
          accessModes: ['ReadWriteOnce'],
          resources: { requests: { storage: '1Gi' } },
        },
      }),
    );
    await harness.agent.put(
      'both.yaml',
      `${configMap('both', { k: 'cm' })}\n---\n${secret('both', { k: 'hidden' })}`,
    );
    await writeFile(`${harness.agent.folder}/on-disk`, 'kept');
    await harness.agent.put(
      'uses.json',
      pod('uses', {
        restartPolicy: 'Never',
        volumes: [{ name: 'd', persistentVolumeClaim: { claimName: 'claim' } }],
        containers: [
          // The runtime may lose the output of a program that exits at once on a busy machine.
          sh('c', 'echo $CM $S $(cat /d/on-disk); sleep 1', {
            volumeMounts: [{ name: 'd', mountPath: '/d' }],
            env: [
              { name: 'CM', valueFrom: { configMapKeyRef: { name: 'both', key: 'k' } } },
              { name: 'S', valueFrom: { secretKeyRef: { name: 'both', key: 'k' } } },
            ],
          }),
        ],
      }),
    );
    await harness.agent.waitFor('uses', hasPhase('Succeeded'));
    expect(await harness.logs('uses', 'c')).toBe('cm hidden kept\n');
    const objects = JSON.stringify(await harness.agent.get('/objects'));
    expect(objects).toContain('PersistentVolumeClaim');
    expect(objects).not.toContain(Buffer.from('hidden').toString('base64'));
  });

  test('a changed manifest ends the old pod before the new one starts', async () => {
    const volumes = [{ name: 'h', hostPath: { path: harness.agent.folder, type: 'Directory' as const } }];
    const version = (word: string) =>
      pod('swap', {
        terminationGracePeriodSeconds: 10,
        volumes,
        containers: [
          sh(
            'c',
            `trap 'sleep 0.5; echo ${word}-down >> /h/swap; exit' TERM; echo ${word}-up >> /h/swap; while :; do sleep 0.05; done`,
            {
              volumeMounts: [{ name: 'h', mountPath: '/h' }],
            },
          ),
        ],
      });
    await harness.agent.put('swap.json', version('old'));
    await harness.fileText(`${harness.agent.folder}/swap`, /old-up/);
    await harness.agent.put('swap.json', version('new'));
    expect(await harness.fileText(`${harness.agent.folder}/swap`, /new-up/)).toBe(
      'old-up\nold-down\nnew-up\n',
    );
  });
});
