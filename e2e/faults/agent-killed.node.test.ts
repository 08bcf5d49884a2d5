import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { sleep, systemClock } from '#api/kit/clock.ts';
import type { CriConnection } from '#cri/client/connection.ts';
import { TestAgent } from '../../testing/agent.ts';
import { createRandom, type Random } from '../../testing/random.ts';
import { ofRound } from '../../testing/rounds.ts';
import { createTempDir } from '../../testing/temp.ts';
import { connectForTraces, pidOf, readTraces } from '../../testing/traces.ts';
import { eventually } from '../../testing/wait.ts';
import {
  createFleet,
  differences,
  type Member,
  manifestOf,
  marksDir,
  mutate,
  SETTINGS_MANIFEST,
} from './fleet.ts';

const KILLS = ofRound({ short: 18, long: 150 });
const CHECK_EVERY = ofRound({ short: 9, long: 17 });
/** Maximum lifetime of an agent, in ms; it takes about half of this to start. */
const LONGEST_LIFE_MS = 1100;

interface Run {
  readonly agent: TestAgent;
  readonly connection: CriConnection;
  readonly members: readonly Member[];
  readonly random: Random;
}

const fileOf = ({ name }: Member): string => `${name}.json`;

async function publish({ agent }: Run, member: Member): Promise<void> {
  if (member.version === undefined) await agent.drop(fileOf(member));
  else await agent.put(fileOf(member), manifestOf(member, agent.folder));
}

/** Kills the process of a random container, like a crash. Not of a job, which would then fail correctly. */
async function killSomeProcess({ connection, agent, random, members }: Run): Promise<void> {
  const { containers } = await readTraces(connection, agent);
  const names = new Set(members.filter(({ kind }) => kind !== 'job').map(({ name }) => name));
  const running = containers.filter(
    ({ state, labels }) =>
      state === 'CONTAINER_RUNNING' &&
      Object.values(labels).some((text) => names.has(text.replace(/-n1$/, ''))),
  );
  if (running.length === 0) return;
  const pid = await pidOf(connection, random.pick(running).id).catch(() => 0);
  if (pid > 1) killIfAlive(pid);
}

/** A container may terminate between the query for its PID and the signal. */
function killIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Applies some changes over the lifetime of one agent, which is then killed. */
async function oneLife(run: Run): Promise<void> {
  const { agent, random, members } = run;
  agent.spawn();
  const lifeMs = random.below(LONGEST_LIFE_MS);
  const changes = 1 + random.below(3);
  for (let change = 0; change < changes; change += 1) {
    await sleep(systemClock, lifeMs / changes);
    await publish(run, mutate(members, random));
  }
  if (random.next() < 0.3) await killSomeProcess(run);
  await agent.stop('SIGKILL');
}

/** Waits until the runtime and the disk match the desired state exactly. */
async function settle({ agent, connection }: Run, members: readonly Member[]): Promise<void> {
  let last: readonly string[] = [];
  try {
    await eventually(
      async () => {
        last = differences(members, await agent.pods(), await readTraces(connection, agent));
        return last.length === 0;
      },
      { timeoutMs: 60_000, intervalMs: 100 },
    );
  } catch (cause) {
    throw new Error(`not in the desired state:\n${last.join('\n')}`, { cause });
  }
}

/** Container IDs and restart counts of the unchanged pods. */
async function identities(agent: TestAgent, members: readonly Member[]): Promise<unknown> {
  const pods = await agent.pods();
  return members.map(({ name }) => {
    const pod = pods.find(({ metadata }) => metadata?.name === `${name}-n1`);
    const { initContainerStatuses = [], containerStatuses = [] } = pod?.status ?? {};
    return [...initContainerStatuses, ...containerStatuses].map(
      ({ name: container, containerID, restartCount }) =>
        `${name}/${container} ${containerID} ${restartCount}`,
    );
  });
}

async function expectJobsRanOnce(agent: TestAgent): Promise<void> {
  const dir = marksDir(agent.folder);
  for (const name of await readdir(dir)) {
    expect(await readFile(join(dir, name), 'utf8'), `runs of ${name}`).toBe('ran\n');
  }
}

test(`an agent killed at ${KILLS} moments ends in exactly the desired state`, {
  timeout: 200_000 + KILLS * 4000,
}, async () => {
  const random = createRandom();
  const seed = `TEST_SEED=${random.seed}`;
  const connection = connectForTraces(inject('criEndpoint'));
  const folder = await createTempDir('na-fault-');
  await using agent = await TestAgent.create({ endpoint: inject('criEndpoint'), folder });
  await mkdir(marksDir(agent.folder));
  const fleet = createFleet(20);
  // One pod of each kind is never changed.
  const still = fleet.slice(0, 5);
  const run: Run = { agent, connection, members: fleet.slice(5), random };
  try {
    await agent.put('settings.json', SETTINGS_MANIFEST);
    for (const member of fleet) {
      member.version = 1;
      await publish(run, member);
    }
    await settle(run, fleet);
    const before = await identities(agent, still);
    await agent.stop('SIGKILL');
    for (let kill = 1; kill < KILLS; kill += 1) {
      await oneLife(run);
      if (kill % CHECK_EVERY !== 0 && kill !== KILLS - 1) continue;
      await agent.start();
      await settle(run, fleet);
      expect(await identities(agent, still)).toEqual(before);
      if (kill !== KILLS - 1) await agent.stop('SIGKILL');
    }
    await expectJobsRanOnce(agent);
    for (const member of fleet) {
      member.version = undefined;
      await publish(run, member);
    }
    await settle(run, fleet);
  } catch (cause) {
    throw new Error(`failed with ${seed}`, { cause });
  } finally {
    connection.close();
  }
});
