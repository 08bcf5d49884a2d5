import { expect, inject, test } from 'vitest';
import { sleep, systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { connectRuntime } from '#cri/client/connection.ts';
import { withContractContext } from '#cri/contract-context.ts';
import { createTempDir } from '../../testing/temp.ts';
import { createExecCalls, type ExecSyncDeps } from './exec-sync.ts';

const ROUNDS = 60;

// Where the calls were cancelled on the wire, one of about twenty blocked the container for 30 s.
test('a container whose commands are abandoned during their setup can be stopped immediately', async () => {
  await using folder = await createTempDir();
  const cri = connectRuntime({ endpoint: inject('criEndpoint'), log: silentLogger });
  const target = {
    cri,
    clock: systemClock,
    log: silentLogger,
    image: 'local/busybox:1',
    logRoot: folder.path,
    endContainer: () => Promise.reject(new Error('must not be called')),
  };
  await withContractContext(target, async ({ runSandbox, startContainer }) => {
    const containerId = await startContainer(await runSandbox());
    const commands: Promise<unknown>[] = [];
    const runtime: ExecSyncDeps['runtime'] = {
      execSync(request, options) {
        const command = cri.runtime.execSync(request, options);
        commands.push(command);
        return command;
      },
    };
    const { execSync } = createExecCalls({ runtime, clock: systemClock });
    for (let round = 0; round < ROUNDS; round += 1) {
      const abort = new AbortController();
      const call = execSync(containerId, ['true'], 60_000, abort.signal).catch(() => undefined);
      // The command is being set up for most of this time.
      await sleep(systemClock, round);
      abort.abort(new Error('given up'));
      await call;
    }
    // A container that is killed while the runtime sets up a command is a different case, which happens on a
    // busy machine.
    await Promise.allSettled(commands);
    const startMs = performance.now();
    await cri.runtime.stopContainer({ containerId, timeout: 0n });
    expect(performance.now() - startMs).toBeLessThan(15_000);
  });
  cri.close();
});
