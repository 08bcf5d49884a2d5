/** The contract on the fake. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createMessageTypes } from '#api/codec/protobuf/message.ts';
import { systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createTempDir, type TempDir } from '../testing/temp.ts';
import { type CriConnection, connectRuntime } from './client/connection.ts';
import { CONTAINER_CASES, OTHER_CASES, SANDBOX_CASES } from './contract.ts';
import { type ContractTarget, withContractContext } from './contract-context.ts';
import containerdTable from './data/containerd-events.json' with { type: 'json' };
import criV1 from './data/cri-v1.json' with { type: 'json' };
import { type FakeCri, startFakeCri } from './fake/fake-cri.ts';
import type { FakeControls } from './fake/fake-runtime.ts';
import { connectInProcess } from './fake/loopback.ts';

const ALL_CASES = [...SANDBOX_CASES, ...CONTAINER_CASES, ...OTHER_CASES];
const IMAGE = 'local/busybox:1';

const targetOf = (cri: CriConnection, fake: FakeControls): ContractTarget => ({
  cri,
  clock: systemClock,
  log: silentLogger,
  image: IMAGE,
  logRoot: '/var/log/pods',
  endContainer: async (id, exitCode) => fake.pods.exitContainer(id, { exitCode }),
});

describe.each(['cri', 'containerd'] as const)('contract on the fake with %s events', (events) => {
  let dir: TempDir;
  let fake: FakeCri;
  let cri: CriConnection;

  beforeAll(async () => {
    dir = await createTempDir();
    fake = await startFakeCri({ socketPath: `${dir.path}/f.sock`, events });
    fake.images.add({ reference: IMAGE });
    cri = connectRuntime({ endpoint: fake.endpoint, log: silentLogger });
  });

  afterAll(async () => {
    cri.close();
    await fake.close();
    await dir[Symbol.asyncDispose]();
  });

  test.each(ALL_CASES)('$title ($source)', async ({ run }) => {
    await expect(withContractContext(targetOf(cri, fake), run)).resolves.toBeUndefined();
  });
});

describe.each(['cri', 'containerd'] as const)(
  'contract on the fake in this process with %s events',
  (events) => {
    const types = { cri: createMessageTypes(criV1), containerd: createMessageTypes(containerdTable) };
    const { controls, connection } = connectInProcess(
      { clock: systemClock, log: silentLogger, types },
      { events },
    );
    controls.images.add({ reference: IMAGE });

    afterAll(() => connection.close());

    test.each(ALL_CASES)('$title ($source)', async ({ run }) => {
      await expect(withContractContext(targetOf(connection, controls), run)).resolves.toBeUndefined();
    });
  },
);
