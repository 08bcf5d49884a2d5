/** Worker of the store's thread: all waiting for the disk happens here. */
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { toPlainError } from '../plain-error.ts';
import type { Refusal } from '../thread.ts';
import { backUp } from './backup.ts';
import { toStoreError } from './failure.ts';
import { openDatabase, storeFiles, takeLock } from './files.ts';
import { createLogTable } from './log-table.ts';
import type { ReadyWord, ToMain, ToWorker, WorkerTask } from './protocol.ts';
import { restore } from './restore.ts';
import { createServer } from './server.ts';

function sendTo(port: MessagePort, message: ReadyWord | Refusal | ToMain): void {
  port.postMessage(message, transferable(message));
}

/** Minimum size of memory that is transferred instead of copied. Copying less is cheaper. */
function transferable(message: ReadyWord | Refusal | ToMain): ArrayBuffer[] {
  if (message.kind === 'items' && message.items.length > 0) return [message.items.buffer];
  if (message.kind === 'history' && message.events.length > 0) return [message.events.buffer];
  return [];
}

function received(port: MessagePort): ToWorker | undefined {
  const next: { readonly message: ToWorker } | undefined = receiveMessageOnPort(port);
  return next?.message;
}

function serve(port: MessagePort, dir: string, check: boolean): void {
  const files = storeFiles(dir);
  const lock = takeLock(files);
  const database = openDatabase(files, check);
  const table = createLogTable(database);
  const server = createServer({
    table,
    send: (message) => sendTo(port, message),
    toError: (thrown, action) => toStoreError(thrown, action, files.database, dir),
    close() {
      database.close();
      lock.close();
    },
  });

  function turn(first?: ToWorker): void {
    const messages = first === undefined ? [] : [first];
    for (let next = received(port); next !== undefined; next = received(port)) messages.push(next);
    if (server.turn(messages)) setImmediate(() => turn());
  }
  port.on('message', (message: ToWorker) => turn(message));
  sendTo(port, { kind: 'ready', revision: table.revision() });
  // Continues a sweep that the last process didn't finish.
  setImmediate(() => turn());
}

function run(port: MessagePort, task: WorkerTask): void {
  try {
    switch (task.task) {
      case 'serve':
        return serve(port, task.dir, task.check);
      case 'backup':
        return sendTo(port, { kind: 'ready', revision: backUp(task.dir, task.target, task.keysDir) });
      case 'restore':
        return sendTo(port, { kind: 'ready', revision: restore(task) });
      default:
        task satisfies never;
    }
  } catch (thrown) {
    const error = toPlainError(toStoreError(thrown, 'opening', storeFiles(task.dir).database, task.dir));
    sendTo(port, { kind: 'refused', error });
  }
}

function isTask(data: unknown): data is WorkerTask {
  return typeof data === 'object' && data !== null && 'task' in data;
}

if (parentPort !== null && isTask(workerData)) run(parentPort, workerData);
