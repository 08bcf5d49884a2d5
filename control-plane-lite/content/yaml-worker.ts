/** Program of the thread that reads large YAML texts: a text in, its first document with content out. */
import { Buffer } from 'node:buffer';
import { parentPort } from 'node:worker_threads';
import { SyntaxFault } from '#api/codec/limits.ts';
import { firstDocument } from './first-document.ts';
import type { YamlAnswer } from './yaml-reader.ts';

/** Nobody reads more. */
const MAX_ERRORS = 100;

function answer(text: string): YamlAnswer {
  try {
    for (const document of firstDocument(text)) {
      if (document === undefined) continue;
      const { value, errors, ...rest } = document;
      const told = { ...rest, errors: errors.slice(0, MAX_ERRORS) };
      return { kind: 'document', document: told, json: JSON.stringify(value) };
    }
    return { kind: 'nothing' };
  } catch (thrown) {
    if (!(thrown instanceof SyntaxFault)) throw thrown;
    const { message, line, column } = thrown;
    return { kind: 'fault', message, line, column };
  }
}

parentPort?.on('message', (bytes: Uint8Array) => {
  parentPort?.postMessage(answer(Buffer.from(bytes).toString('utf8')), []);
});
