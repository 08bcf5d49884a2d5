/** Encodes lists from the bytes of their items, in chunks that the connection writes unchanged. Work per item
 *  is done in turns, so that a long list doesn't block others.
 *  Deviation: items retain their `kind` and `apiVersion`, which upstream's lists of built-in kinds omit. */

import { formatYaml } from '#api/codec/yaml.ts';
import { StatusError } from '#api/meta/status-error.ts';
import {
  ENVELOPE_TAIL,
  envelopeHead,
  type TypeMeta,
  varintLength,
  writeVarint,
} from '#api/protobuf/envelope.ts';
import { META_PACKAGE } from '#api/schema/registry.ts';
import type { CachedObject } from '../cache/contract.ts';
import { isLarge, type Turn } from '../kit/yield.ts';
import { apiVersionOf } from '../resources/facts.ts';
import { type EncodeDeps, itemText, messageOf, reform, type Showing, tableOptions } from './encode.ts';
import { loadedForm } from './loaded-form.ts';
import { metaApiVersion, partialJson, partialMessage } from './partial.ts';
import { isStoredForm, type Source, sourceNow, sourcesOf, takesTime } from './source.ts';
import { columnsJson, rowJson, TABLE_TAIL, tableHead } from './table.ts';

/** A page of a list. */
export interface Page {
  readonly items: readonly CachedObject[];
  readonly revision: number;
  /** Token of the next page; empty if there is none. */
  readonly continue: string;
  readonly remaining?: number;
}

/** Number of items converted per batch. */
const ROUND = 500;
/** Work between two turns of the event loop. */
const TURN_MS = 8;
const COMMA = Buffer.from(',');
const ITEM_TAG = 0x12;
const METADATA_TAG = 0x0a;
const LIST_META = `${META_PACKAGE}.ListMeta`;

function listMetadata(page: Page): Record<string, unknown> {
  return {
    resourceVersion: String(page.revision),
    ...(page.continue === '' ? {} : { continue: page.continue }),
    ...(page.remaining === undefined ? {} : { remainingItemCount: page.remaining }),
  };
}

/** Processes every item, and yields to the event loop in between and after each large one. */
async function eachInTurns(
  page: Page,
  { resource, shape }: Showing,
  turn: Turn,
  work: (source: Source, index: number) => void | Promise<void>,
): Promise<void> {
  const { items } = page;
  let turnStart = performance.now();
  for (let start = 0; start < items.length; start += ROUND) {
    const round = items.slice(start, start + ROUND);
    const converted = takesTime(resource) ? await sourcesOf(resource, round) : [];
    for (const [at, item] of round.entries()) {
      const loads = isLarge(item.json) && !takesTime(resource);
      const form = loads ? await loadedForm(item, resource, shape, turn) : item;
      const waiting = work(converted[at] ?? sourceNow(resource, form), start + at);
      if (waiting !== undefined) await waiting;
      if (!loads && performance.now() - turnStart < TURN_MS) continue;
      await turn();
      turnStart = performance.now();
    }
  }
}

/** The kind and version of the list. */
function listMeta({ resource, shape }: Showing, { vocabulary }: EncodeDeps): TypeMeta {
  if (shape.as === 'object') return { kind: resource.info.listKind, apiVersion: apiVersionOf(resource.info) };
  return { kind: 'PartialObjectMetadataList', apiVersion: metaApiVersion(vocabulary, shape) };
}

const headText = ({ kind, apiVersion }: TypeMeta, metadata: object): string =>
  `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},"metadata":${JSON.stringify(metadata)},"items":[`;

/** Concatenates stored bytes: nothing is parsed, copied or waited for. */
function storedList(page: Page, head: string): readonly Buffer[] {
  const pieces: Buffer[] = [Buffer.from(head)];
  for (const { json } of page.items) {
    if (pieces.length > 1) pieces.push(COMMA);
    pieces.push(json);
  }
  pieces.push(Buffer.from(']}'));
  return pieces;
}

async function jsonList(
  page: Page,
  showing: Showing,
  deps: EncodeDeps,
  turn: Turn,
): Promise<readonly Buffer[]> {
  const head = headText(listMeta(showing, deps), listMetadata(page));
  const { resource, shape } = showing;
  if (shape.as === 'object' && isStoredForm(resource)) return storedList(page, head);
  const pieces: Buffer[] = [Buffer.from(head)];
  const apiVersion = metaApiVersion(deps.vocabulary, shape);
  await eachInTurns(page, showing, turn, (source, index) => {
    if (index > 0) pieces.push(COMMA);
    pieces.push(shape.as === 'object' ? source.json() : partialJson(source, apiVersion));
  });
  pieces.push(Buffer.from(']}'));
  return pieces;
}

/** JSON with line breaks, or YAML: item by item. */
async function textList(
  page: Page,
  showing: Showing,
  deps: EncodeDeps,
  turn: Turn,
): Promise<readonly Buffer[]> {
  const yaml = showing.shape.mediaType === 'yaml';
  const meta = listMeta(showing, deps);
  const metadata = listMetadata(page);
  const pieces: Buffer[] = [];
  if (yaml) {
    const { length } = page.items;
    pieces.push(
      Buffer.from(`${formatYaml({ apiVersion: meta.apiVersion })}items:${length === 0 ? ' []' : ''}\n`),
    );
  } else {
    const text = JSON.stringify({ ...meta, metadata }, null, 2).slice(0, -2);
    pieces.push(Buffer.from(`${text},\n  "items": [`));
  }
  await eachInTurns(page, showing, turn, (source, index) => {
    const head = yaml ? '- ' : `${index === 0 ? '' : ','}\n    `;
    const text = itemText(source, showing, deps, yaml ? '  ' : '    ');
    if (!(text instanceof Promise)) return void pieces.push(Buffer.from(head), text);
    return text.then((made) => void pieces.push(Buffer.from(head), made));
  });
  const end = page.items.length === 0 ? ']\n}\n' : '\n  ]\n}\n';
  pieces.push(Buffer.from(yaml ? formatYaml({ kind: meta.kind, metadata }) : end));
  return pieces;
}

/** Returns the header of a bytes field: its tag and its length. */
function fieldHead(tag: number, length: number): Buffer {
  const head = Buffer.allocUnsafe(1 + varintLength(length));
  head[0] = tag;
  writeVarint(head, length, 1);
  return head;
}

async function protobufList(
  page: Page,
  showing: Showing,
  deps: EncodeDeps,
  turn: Turn,
): Promise<readonly Buffer[]> {
  const { resource, shape } = showing;
  const { protobuf } = deps;
  // The older list of metadata has its two fields in reverse order.
  const swapped = shape.as !== 'object' && shape.metaVersion === 'v1beta1';
  const itemTag = swapped ? METADATA_TAG : ITEM_TAG;
  const metadata = protobuf.encodeMessage(LIST_META, listMetadata(page));
  const metadataPieces = [fieldHead(swapped ? ITEM_TAG : METADATA_TAG, metadata.length), metadata];
  const pieces: Buffer[] = swapped ? [] : [...metadataPieces];
  await eachInTurns(page, showing, turn, (source) => {
    const message =
      shape.as === 'object' ? messageOf(source, resource, protobuf) : partialMessage(source, protobuf);
    pieces.push(fieldHead(itemTag, message.length), message);
  });
  if (swapped) pieces.push(...metadataPieces);
  let length = 0;
  for (const piece of pieces) length += piece.length;
  return [envelopeHead(listMeta(showing, deps), length), ...pieces, ENVELOPE_TAIL];
}

async function tableList(
  page: Page,
  showing: Showing,
  deps: EncodeDeps,
  turn: Turn,
): Promise<readonly Buffer[]> {
  const options = tableOptions(showing, deps);
  const columns = columnsJson(showing.resource);
  const pieces: Buffer[] = [Buffer.from(tableHead(options.apiVersion, listMetadata(page), columns))];
  await eachInTurns(page, showing, turn, (source, index) => {
    if (index > 0) pieces.push(COMMA);
    pieces.push(...rowJson(source, options));
  });
  pieces.push(Buffer.from(TABLE_TAIL));
  const { shape, pretty } = showing;
  if (shape.mediaType === 'json' && !pretty) return pieces;
  return reform(Buffer.concat(pieces), showing, deps.writer);
}

/** Encodes a page of a list, in chunks.
 *  @throws StatusError NotAcceptable if the metadata of a single object is requested */
export async function encodeList(
  page: Page,
  showing: Showing,
  deps: EncodeDeps,
  turn: Turn,
): Promise<readonly Buffer[]> {
  const { shape, pretty } = showing;
  if (shape.as === 'PartialObjectMetadata') {
    throw new StatusError(
      'NotAcceptable',
      'you requested PartialObjectMetadata, but the requested object is a list',
    );
  }
  if (shape.as === 'Table') return tableList(page, showing, deps, turn);
  if (shape.mediaType === 'protobuf') return protobufList(page, showing, deps, turn);
  if (shape.mediaType === 'yaml' || pretty) return textList(page, showing, deps, turn);
  return jsonList(page, showing, deps, turn);
}
