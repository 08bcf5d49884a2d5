/** The contract of runtimes on docker, in this process. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { CONTAINER_CASES, OTHER_CASES, SANDBOX_CASES } from '#cri/contract.ts';
import { withContractContext } from '#cri/contract-context.ts';
import { startTestDockerd, type TestDockerd } from '../../../../testing/dockerd.ts';
import { eventually } from '../../../../testing/wait.ts';
import { connectTo, type RuntimeOnDocker } from './docker-runtime.fixture.ts';

describe('contract on docker', () => {
  let dockerd: TestDockerd;
  let runtime: RuntimeOnDocker;

  beforeAll(async () => {
    dockerd = await startTestDockerd();
    runtime = await connectTo(dockerd);
  });

  afterAll(async () => {
    await runtime?.[Symbol.asyncDispose]();
    await dockerd?.purge();
  });

  async function endContainer(containerId: string, exitCode: number): Promise<void> {
    const { runtime: calls } = runtime.cri;
    await calls.execSync({ containerId, cmd: ['sh', '-c', `echo ${exitCode} > /exit`], timeout: 10n });
    await eventually(async () => {
      const { status } = await calls.containerStatus({ containerId });
      return status?.state === 'CONTAINER_EXITED';
    });
  }

  test.each([...SANDBOX_CASES, ...CONTAINER_CASES, ...OTHER_CASES])('$title ($source)', async ({ run }) => {
    const image = 'local/busybox:1';
    const { cri } = runtime;
    const logRoot = `${dockerd.folder}/logs`;
    const target = { cri, clock: systemClock, log: silentLogger, image, logRoot, endContainer };
    await expect(withContractContext(target, run)).resolves.toBeUndefined();
  });
});
