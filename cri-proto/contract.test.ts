/** The contract on the fake. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createTempDir, type TempDir } from '../testing/temp.ts';
import { type CriConnection, connectRuntime } from './client/connection.ts';
import { CONTAINER_CASES, OTHER_CASES, SANDBOX_CASES } from './contract.ts';
import { withContractContext } from './contract-context.ts';
import { type FakeCri, startFakeCri } from './fake/fake-cri.ts';

describe.each(['cri', 'containerd'] as const)('contract on the fake with %s events', (events) => {
  let dir: TempDir;
  let fake: FakeCri;
  let cri: CriConnection;

  beforeAll(async () => {
    dir = await createTempDir();
    fake = await startFakeCri({ socketPath: `${dir.path}/f.sock`, events });
    fake.images.add({ reference: 'local/busybox:1' });
    cri = connectRuntime({ endpoint: fake.endpoint, log: silentLogger });
  });

  afterAll(async () => {
    cri.close();
    await fake.close();
    await dir[Symbol.asyncDispose]();
  });

  test.each([...SANDBOX_CASES, ...CONTAINER_CASES, ...OTHER_CASES])('$title ($source)', async ({ run }) => {
    const target = {
      cri,
      clock: systemClock,
      log: silentLogger,
      image: 'local/busybox:1',
      logRoot: '/var/log/pods',
      endContainer: async (id: string, exitCode: number) => fake.pods.exitContainer(id, { exitCode }),
    };
    await expect(withContractContext(target, run)).resolves.toBeUndefined();
  });
});
