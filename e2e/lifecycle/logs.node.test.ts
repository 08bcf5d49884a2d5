/** Log files, their rotation and links, and the collection of dead containers. */
import { readdir, readFile, readlink } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import {
  containerId,
  hasPhase,
  isRunning,
  pod,
  restarts,
  sh,
  startHarness,
  statusOf,
  useHarness,
  WAIT,
} from './support.ts';

describe.concurrent('logs', () => {
  const harness = useHarness(['--container-log-max-size=4Ki', '--container-log-max-files=3']);

  test("lie in CRI format in the pod's folder, with a link by name", async () => {
    await harness.agent.put(
      'plain.json',
      pod('plain', { containers: [sh('c', `echo out; echo err >&2; ${WAIT}`)] }),
    );
    const found = await harness.agent.waitFor('plain', isReady);
    const path = `${harness.agent.logs}/default_plain-n1_${found.metadata?.uid}/c/0.log`;
    const text = await harness.fileText(path, /err/);
    expect(text).toMatch(/^\d{4}-\d\d-\d\dT\S+ stdout F out$/m);
    expect(text).toMatch(/^\S+ stderr F err$/m);
    const link = `${harness.agent.folder}/links/plain-n1_default_c-${containerId(found, 'c')}.log`;
    expect(await eventually(() => readlink(link))).toBe(path);
    await harness.agent.drop('plain.json');
    await eventually(async () => (await harness.agent.pod('plain')) === undefined, { timeoutMs: 20_000 });
    await expect(readlink(link)).rejects.toThrow(/ENOENT/);
    await expect(readFile(path)).rejects.toThrow(/ENOENT/);
  });

  test('previous: those of the instance before', async () => {
    await harness.agent.put(
      'prev.json',
      pod('prev', { containers: [sh('c', `cat /proc/sys/kernel/random/uuid; ${WAIT}`)] }),
    );
    const found = await harness.agent.waitFor('prev', isRunning('c'));
    const first = await harness.logs('prev', 'c', /\w{12}/);
    await harness.cri.runtime.stopContainer({ containerId: containerId(found, 'c'), timeout: 0n });
    await harness.agent.waitFor('prev', restarts('c', 1));
    expect(await harness.agent.get('/containerLogs/default/prev-n1/c?previous=true')).toBe(first);
    expect(await harness.logs('prev', 'c', /\w{12}/)).not.toBe(first);
  });

  test('are rotated by size, and nothing is lost on the way', { timeout: 120_000 }, async () => {
    // Written at once, so that a round of the rotation seldom comes in between.
    const script = `i=0; while [ $i -lt 40 ]; do echo "line $i $(head -c 200 /dev/zero | tr '\\0' x)"; i=$((i+1)); done > /tmp/lines; cat /tmp/lines; ${WAIT}`;
    await harness.agent.put('much.json', pod('much', { containers: [sh('c', script)] }));
    const found = await harness.agent.waitFor('much', isReady);
    const dir = `${harness.agent.logs}/default_much-n1_${found.metadata?.uid}/c`;
    // If a round came in between, a second one compresses the file that the first has rotated.
    const textOf = async (name: string): Promise<string> => {
      const bytes = await readFile(`${dir}/${name}`);
      return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
    };
    const { names, numbers } = await eventually(
      async () => {
        const seen = (await readdir(dir)).filter((name) => !name.endsWith('.tmp'));
        const texts = await Promise.all(seen.map(textOf));
        const lines = [...texts.join('').matchAll(/line (\d+) x/g)].map(([, number]) => Number(number));
        if (seen.length > 1 && lines.length === 40) return { names: seen, numbers: lines };
        throw new Error(`${lines.length} lines in ${seen.join()}`);
      },
      { timeoutMs: 40_000, what: 'the log is rotated' },
    );
    expect(names).toContain('0.log');
    expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, index) => index));
    await harness.exec(found, 'c', 'echo after the rotation > /proc/1/fd/1');
    await harness.fileText(`${dir}/0.log`, /after the rotation/);
  });
});

describe('dead containers', () => {
  test('are collected beyond the limit, and the last one is retained', async () => {
    await using harness = await startHarness([
      '--maximum-dead-containers-per-container=1',
      '--minimum-container-ttl-duration=0s',
    ]);
    const volumeMounts = [{ name: 'd', mountPath: '/d' }];
    await harness.agent.put(
      'dies.json',
      pod('dies', {
        restartPolicy: 'OnFailure',
        volumes: [{ name: 'd', emptyDir: {} }],
        containers: [sh('c', '[ -e /d/x ] && exit 0; touch /d/x; exit 1', { volumeMounts })],
      }),
    );
    const found = await harness.agent.waitFor('dies', hasPhase('Succeeded'));
    const attempts = async () => {
      const { containers } = await harness.cri.runtime.listContainers({});
      return containers
        .filter(({ labels }) => Object.values(labels).includes(found.metadata?.uid ?? ''))
        .map(({ metadata }) => metadata?.attempt)
        .sort((a = 0, b = 0) => a - b);
    };
    expect(await attempts()).toEqual([0, 1]);
    // Collection begins at the agent's start.
    await harness.agent.stop();
    await harness.agent.start();
    await eventually(async () => (await attempts()).length === 1);
    expect(await attempts()).toEqual([1]);
    const after = await harness.agent.waitFor('dies', hasPhase('Succeeded'));
    expect(statusOf(after, 'c')).toMatchObject({ restartCount: 1, state: { terminated: { exitCode: 0 } } });
  });
});
