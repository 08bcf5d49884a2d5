/** Program of the thread that parses large YAML texts: a text in, its first document with content out. */

import { Buffer } from 'node:buffer';
import { parentPort } from 'node:worker_threads';
import { TextSyntaxError } from '#api/codec/limits.ts';
import { firstDocument } from './first-document.ts';
import { formText, indented } from './text-forms.ts';
import type { TextTask, YamlReply } from './yaml-reader.ts';

/** Number of reported duplicates; the caller shows no more. */
const MAX_ERRORS = 100;

function readDocument(text: string): YamlReply {
  try {
    for (const document of firstDocument(text)) {
      if (document === undefined) continue;
      const { value, errors, ...rest } = document;
      const reported = { ...rest, errors: errors.slice(0, MAX_ERRORS) };
      return { kind: 'document', document: reported, json: JSON.stringify(value) };
    }
    return { kind: 'nothing' };
  } catch (thrown) {
    if (!(thrown instanceof TextSyntaxError)) throw thrown;
    const { message, line, column } = thrown;
    return { kind: 'error', message, line, column };
  }
}

function replyTo(task: TextTask): YamlReply {
  const text = Buffer.from(task.bytes).toString('utf8');
  if (task.kind === 'read') return readDocument(text);
  return { kind: 'written', bytes: Buffer.from(indented(formText(text, task.form), task.indent)) };
}

parentPort?.on('message', (task: TextTask) => {
  parentPort?.postMessage(replyTo(task), []);
});
