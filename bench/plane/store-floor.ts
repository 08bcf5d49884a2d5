/** Baseline of the store: as many writes of the same size by as many callers, without an API server. An
 *  API server on that store cannot be faster. */
import { join } from 'node:path';
import type { Store } from '#plane/store/contract.ts';
import { createEmbeddedStore } from '#plane/store/embedded/store.ts';
import { createThreadedEtcdStore } from '#plane/store/etcd/thread.ts';
import { startEtcd } from '#plane/store/etcd.fixture.ts';
import { createTempDir } from '../../testing/temp.ts';
import type { StoreKind } from './setup.ts';

const WRITES = 5000;
/** Size of a stored pod. */
const VALUE_BYTES = 2700;

async function openStore(kind: StoreKind, stack: AsyncDisposableStack): Promise<Store> {
  if (kind === 'etcd') return createThreadedEtcdStore({ servers: stack.use(await startEtcd()).urls });
  const { path } = stack.use(await createTempDir('na-bench-s-'));
  return createEmbeddedStore({ dir: join(path, 'store') });
}

/** Returns new keys per second. @throws Error if a key already exists */
export async function measureStore(kind: StoreKind, callers: number): Promise<number> {
  await using stack = new AsyncDisposableStack();
  const store = await openStore(kind, stack);
  stack.defer(() => store.close());
  const value = Buffer.alloc(VALUE_BYTES, 'x');
  let next = 0;
  const startMs = performance.now();
  await Promise.all(
    Array.from({ length: callers }, async () => {
      for (let index = next++; index < WRITES; index = next++) {
        const { ok } = await store.put(`/pods/default/pod-${index}`, value, 'absent');
        if (!ok) throw new Error(`the store has pod ${index} already`);
      }
    }),
  );
  return (WRITES * 1000) / (performance.now() - startMs);
}
