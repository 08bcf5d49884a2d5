/** Reads the input of a program of the tests: one object in JSON on standard input. */
import { text } from 'node:stream/consumers';

export async function readInput(): Promise<unknown> {
  return JSON.parse(await text(process.stdin)) as unknown;
}
