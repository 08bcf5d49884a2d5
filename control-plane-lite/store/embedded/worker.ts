/** Thread of a store on disk: all waiting for the disk happens here. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { StoreError } from '../contract.ts';
import { type Refusal, toPlainError } from '../thread/protocol.ts';
import { type ServableStore, serveThread } from '../thread/serve.ts';
import { backUp } from './backup.ts';
import { createEngine } from './engine.ts';
import { toStoreError } from './failure.ts';
import { openDatabase, storeFiles, takeLock } from './files.ts';
import { createLogTable } from './log-table.ts';
import { restore } from './restore.ts';
import type { Completed, Task } from './task.ts';

/** @throws StoreError */
function open({ dir, check, maxValueBytes }: Extract<Task, { task: 'serve' }>): ServableStore {
  const files = storeFiles(dir);
  const toError = (thrown: unknown, action: string): StoreError =>
    toStoreError(thrown, action, files.database, dir);
  try {
    const lock = takeLock(files);
    const database = openDatabase(files, check);
    return createEngine({
      table: createLogTable(database),
      maxValueBytes,
      toError,
      close() {
        database.close();
        lock.close();
      },
    });
  } catch (thrown) {
    throw toError(thrown, 'opening');
  }
}

function complete(port: MessagePort, dir: string, work: () => number): void {
  let message: Completed | Refusal;
  try {
    message = { kind: 'ready', revision: work() };
  } catch (thrown) {
    const error = toStoreError(thrown, 'opening', storeFiles(dir).database, dir);
    message = { kind: 'refused', error: toPlainError(error) };
  }
  port.postMessage(message);
}

function run(port: MessagePort, task: Task): void {
  switch (task.task) {
    case 'serve':
      return serveThread(port, () => open(task));
    case 'backup':
      return complete(port, task.dir, () => backUp(task.dir, task.target, task.keysDir));
    case 'restore':
      return complete(port, task.dir, () => restore(task));
    default:
      task satisfies never;
  }
}

function isTask(data: unknown): data is Task {
  return typeof data === 'object' && data !== null && 'task' in data;
}

if (parentPort !== null && isTask(workerData)) run(parentPort, workerData);
