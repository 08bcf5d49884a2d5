/** The contract on the containerd of the test run. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createTempDir, type TempDir } from '../testing/temp.ts';
import { eventually } from '../testing/wait.ts';
import { type CriConnection, connectRuntime } from './client/connection.ts';
import { CONTAINER_CASES, OTHER_CASES, SANDBOX_CASES } from './contract.ts';
import { withContractContext } from './contract-context.ts';

describe('contract on containerd', () => {
  let dir: TempDir;
  let cri: CriConnection;

  beforeAll(async () => {
    dir = await createTempDir();
    cri = connectRuntime({ endpoint: inject('criEndpoint'), log: silentLogger });
  });

  afterAll(async () => {
    cri.close();
    await dir[Symbol.asyncDispose]();
  });

  async function endContainer(containerId: string, exitCode: number): Promise<void> {
    const cmd = ['sh', '-c', `echo ${exitCode} > /exit`];
    await cri.runtime.execSync({ containerId, cmd, timeout: 10n });
    await eventually(async () => {
      const { status } = await cri.runtime.containerStatus({ containerId });
      return status?.state === 'CONTAINER_EXITED';
    });
  }

  test.each([...SANDBOX_CASES, ...CONTAINER_CASES, ...OTHER_CASES])('$title ($source)', async ({ run }) => {
    const image = 'local/busybox:1';
    const target = { cri, clock: systemClock, log: silentLogger, image, logRoot: dir.path, endContainer };
    await expect(withContractContext(target, run)).resolves.toBeUndefined();
  });
});
