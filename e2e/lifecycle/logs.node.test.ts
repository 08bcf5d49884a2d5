/** Log files, their rotation and links, and what is left of containers that died. */
import { readdir, readFile, readlink } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import {
  type Bench,
  containerId,
  hasPhase,
  isRunning,
  pod,
  restarts,
  sh,
  startBench,
  statusOf,
  WAIT,
} from './support.ts';

describe.concurrent('logs', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await startBench(['--container-log-max-size=4Ki', '--container-log-max-files=3']);
  });
  afterAll(() => bench[Symbol.asyncDispose]());

  test("lie in CRI format in the pod's folder, with a link by name", async () => {
    await bench.agent.put(
      'plain.json',
      pod('plain', { containers: [sh('c', `echo out; echo err >&2; ${WAIT}`)] }),
    );
    const found = await bench.agent.waitFor('plain', isReady);
    const path = `${bench.agent.logs}/default_plain-n1_${found.metadata?.uid}/c/0.log`;
    const text = await bench.fileText(path, /err/);
    expect(text).toMatch(/^\d{4}-\d\d-\d\dT\S+ stdout F out$/m);
    expect(text).toMatch(/^\S+ stderr F err$/m);
    const link = `${bench.agent.folder}/links/plain-n1_default_c-${containerId(found, 'c')}.log`;
    expect(await eventually(() => readlink(link))).toBe(path);
    await bench.agent.drop('plain.json');
    await eventually(async () => (await bench.agent.pod('plain')) === undefined, { timeoutMs: 20_000 });
    await expect(readlink(link)).rejects.toThrow(/ENOENT/);
    await expect(readFile(path)).rejects.toThrow(/ENOENT/);
  });

  test('previous: those of the instance before', async () => {
    await bench.agent.put(
      'prev.json',
      pod('prev', { containers: [sh('c', `cat /proc/sys/kernel/random/uuid; ${WAIT}`)] }),
    );
    const found = await bench.agent.waitFor('prev', isRunning('c'));
    const first = await bench.logs('prev', 'c', /\w{12}/);
    await bench.cri.runtime.stopContainer({ containerId: containerId(found, 'c'), timeout: 0n });
    await bench.agent.waitFor('prev', restarts('c', 1));
    expect(await bench.agent.get('/containerLogs/default/prev-n1/c?previous=true')).toBe(first);
    expect(await bench.logs('prev', 'c', /\w{12}/)).not.toBe(first);
  });

  test('are rotated by size, and nothing is lost on the way', { timeout: 120_000 }, async () => {
    // Written at once, so that a round of the rotation seldom comes in between.
    const script = `i=0; while [ $i -lt 40 ]; do echo "line $i $(head -c 200 /dev/zero | tr '\\0' x)"; i=$((i+1)); done > /tmp/lines; cat /tmp/lines; ${WAIT}`;
    await bench.agent.put('much.json', pod('much', { containers: [sh('c', script)] }));
    const found = await bench.agent.waitFor('much', isReady);
    const dir = `${bench.agent.logs}/default_much-n1_${found.metadata?.uid}/c`;
    // Where one came in between, there is a second one, which packs what the first has moved away.
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
    await bench.exec(found, 'c', 'echo after the rotation > /proc/1/fd/1');
    await bench.fileText(`${dir}/0.log`, /after the rotation/);
  });
});

describe('dead containers', () => {
  test('are collected beyond the limit, and the last one is kept', async () => {
    await using bench = await startBench([
      '--maximum-dead-containers-per-container=1',
      '--minimum-container-ttl-duration=0s',
    ]);
    const volumeMounts = [{ name: 'd', mountPath: '/d' }];
    await bench.agent.put(
      'dies.json',
      pod('dies', {
        restartPolicy: 'OnFailure',
        volumes: [{ name: 'd', emptyDir: {} }],
        containers: [sh('c', '[ -e /d/x ] && exit 0; touch /d/x; exit 1', { volumeMounts })],
      }),
    );
    const found = await bench.agent.waitFor('dies', hasPhase('Succeeded'));
    const attempts = async () => {
      const { containers } = await bench.cri.runtime.listContainers({});
      return containers
        .filter(({ labels }) => Object.values(labels).includes(found.metadata?.uid ?? ''))
        .map(({ metadata }) => metadata?.attempt)
        .sort((a = 0, b = 0) => a - b);
    };
    expect(await attempts()).toEqual([0, 1]);
    // Collecting begins when the agent does.
    await bench.agent.stop();
    await bench.agent.start();
    await eventually(async () => (await attempts()).length === 1);
    expect(await attempts()).toEqual([1]);
    const after = await bench.agent.waitFor('dies', hasPhase('Succeeded'));
    expect(statusOf(after, 'c')).toMatchObject({ restartCount: 1, state: { terminated: { exitCode: 0 } } });
  });
});
