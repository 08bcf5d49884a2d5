/** The call path of a manifest in docs/flow.md, compared with the functions that run. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, inject, test } from 'vitest';
import { buildImageArchive, type ImageArchive } from '#agent/runtime/managed/image-archive.ts';
import { describePauseImage } from '#agent/runtime/managed/local-images.ts';
import { findProgram } from '#agent/runtime/managed/programs.ts';
import { isReady, TestAgent } from '../../testing/agent.ts';
import { startRegistry } from '../../testing/registry.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { listedFiles } from './listed-files.ts';

const PROGRAM = join(import.meta.dirname, 'trace-agent.ts');

/** Folders whose files take part only because of the pod, without helpers that every part uses. */
const OWN_PATH = /^(?:agent\/(?:sources|pods|images|observe|runtime\/config)|cri-proto\/client)\//;

/** Returns the files whose functions have run since the last call. */
async function takeFiles(agent: TestAgent, traceFile: string): Promise<readonly string[]> {
  const lines = async (): Promise<readonly string[]> =>
    (await readFile(traceFile, 'utf8').catch(() => '')).split('\n').slice(0, -1);
  const before = (await lines()).length;
  process.kill(agent.pid, 'SIGUSR2');
  const line = await eventually(async () => (await lines())[before], { what: 'the agent reports its files' });
  return JSON.parse(line) as readonly string[];
}

/** An image that no other test has, so that it must be pulled. */
async function ownImage(): Promise<ImageArchive> {
  const description = describePauseImage(await readFile(await findProgram('catatonit', 'catatonit')));
  return buildImageArchive({ ...description, labels: { test: 'flow' } });
}

test('a manifest runs the files that the page lists, and not many more', async () => {
  await using folder = await createTempDir();
  await using registry = await startRegistry(await ownImage());
  const traceFile = join(folder.path, 'trace');
  const options = { endpoint: inject('criEndpoint'), program: [PROGRAM], env: { TRACE_FILE: traceFile } };
  await using agent = await TestAgent.create(options);
  const run = async (name: string): Promise<void> => {
    const containers = [{ name: 'c', image: `${registry.name}/test/${name}:1` }];
    const spec = { terminationGracePeriodSeconds: 0, containers };
    await agent.put(
      `${name}.json`,
      JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec }),
    );
    await agent.waitFor(name, isReady);
  };
  // Nothing counts that happens once.
  await run('first');
  await pause(500);
  await takeFiles(agent, traceFile);
  await run('second');
  const all = await takeFiles(agent, traceFile);
  expect(listedFiles(0).filter((path) => !all.includes(path))).toEqual([]);
  const own = all.filter((path) => OWN_PATH.test(path)).toSorted();
  console.log(`files of a manifest: ${own.length} of the path itself, ${all.length} with helpers`);
  // With the periodic relist, which may or may not run meanwhile.
  expect(own.length).toBeLessThanOrEqual(70);
});
