/** Drivers of text readers in `api-machinery`. */

import { parseDocuments } from '#api/codec/documents.ts';
import { embeddedText, sortedMembers } from '#api/codec/embedded-text.ts';
import { findDuplicates, parseJson, parseJsonStream } from '#api/codec/json.ts';
import { parseJsonBytes } from '#api/codec/json-bytes.ts';
import { parseJsonInSteps } from '#api/codec/json-list.ts';
import { readJsonSlices } from '#api/codec/json-slices.ts';
import { parseJsonText } from '#api/codec/json-text.ts';
import { hasLongNumber } from '#api/codec/long-numbers.ts';
import { type GlobPart, matchesGlob } from '#api/kit/text/glob.ts';
import { trimEnd } from '#api/kit/text/trim-end.ts';
import { parseCron } from '#api/meta/cron.ts';
import { parseDuration } from '#api/meta/duration.ts';
import { formatFieldSelector, parseFieldSelector } from '#api/meta/field-selectors.ts';
import { parsePercent } from '#api/meta/int-or-string.ts';
import { parseIp, parseIpRange } from '#api/meta/ip.ts';
import { parseJsonPath } from '#api/meta/json-path.ts';
import { validateAnnotations, validateLabels } from '#api/meta/labels.ts';
import {
  dns1035LabelErrors,
  dns1123LabelErrors,
  dns1123SubdomainErrors,
  envVarNameErrors,
} from '#api/meta/names.ts';
import { parseQuantity } from '#api/meta/quantity.ts';
import { formatLabelSelector, parseLabelSelector } from '#api/meta/selectors.ts';
import { parseTimeNanos } from '#api/meta/time.ts';
import { parsePem } from '#api/pki/pem.ts';
import { createApiProtobuf } from '#api/protobuf/api-protobuf.ts';
import { decodeScalar } from '#api/schema/decode-scalar.ts';
import { imageTag } from '#api/schema/default-conditions.ts';
import { extractField } from '#api/schema/field-ref.ts';
import { createFrameReader } from '#api/spdy/frame-reader.ts';
import { decodeHeaderBlock } from '#api/spdy/headers.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { type Driver, STRING_PUMPS, steps } from './driver.ts';

const vocabulary = VOCABULARIES.kubernetes;
const protobuf = createApiProtobuf(vocabulary);
const list = (text: string): Buffer => Buffer.from(`{"items":[${text}],"kind":"L"}`);
const JSON_FRAMES = [
  ['{"a":"', '"}'],
  ['{"', '":1}'],
  ['{"\\\\":"', '"}'],
  ['{"a":1,"a":"', '"}'],
  ['[', '1]'],
  ['{"metadata":{"annotations":{"a":"', '"}}}'],
] as const;
/** Parts that make a matcher backtrack as often as possible. */
const STARS: readonly GlobPart[] = Array.from({ length: 64 }, (_, index) =>
  index % 2 === 0 ? 'any' : (character: string) => character === 'a',
);

/** Part of a SPDY header block. */
const NAME_AND_VALUE = '\0\0\0\u0001a\0\0\0\u0001b';

export const API_DRIVERS: readonly Driver[] = [
  {
    name: 'embedded JSON',
    covers: ['api-machinery/codec/embedded-text.ts'],
    run: (text) => embeddedText(sortedMembers({ [text]: [text] })),
    pumps: ['<', '\\', '\b', '\f<', '\u2028'],
  },
  {
    name: 'JSON text',
    covers: ['api-machinery/codec/json-text.ts', 'api-machinery/codec/json.ts'],
    run: parseJsonText,
    frames: JSON_FRAMES,
    pumps: STRING_PUMPS,
    fairNs: 250,
  },
  {
    name: 'long numbers in JSON',
    covers: ['api-machinery/codec/long-numbers.ts'],
    run: hasLongNumber,
    frames: [...JSON_FRAMES, ['"', '"'], ['a', '']],
    pumps: ['1', '1234567890123456 ', 'a12345678901234567', '"123456789012345678"', 'aaaaaaaaaaaaaaa1', '-1'],
  },
  {
    name: 'JSON of long numbers',
    covers: ['api-machinery/codec/json.ts', 'api-machinery/codec/long-numbers.ts'],
    run: parseJsonText,
    frames: [['[', '1]']],
    pumps: ['9007199254740993,', '1', '9223372036854775808,'],
    fairNs: 500,
  },
  {
    name: 'JSON with places',
    covers: ['api-machinery/codec/json.ts', 'api-machinery/codec/limits.ts'],
    run: (text) => parseJson(text),
    frames: JSON_FRAMES,
    pumps: STRING_PUMPS,
    fairNs: 500,
  },
  {
    name: 'JSON values in a row',
    covers: ['api-machinery/codec/json.ts', 'api-machinery/codec/limits.ts'],
    run: (text) => parseJsonStream(text, { maxDocuments: 1e9 }),
    pumps: ['{}\n', '1\n', '\n', '{}\n\n\n\n'],
    fairNs: 500,
  },
  {
    name: 'JSON bodies',
    covers: ['api-machinery/codec/json-bytes.ts', 'api-machinery/codec/limits.ts'],
    run: (text) => parseJsonBytes(Buffer.from(text)),
    frames: JSON_FRAMES,
    pumps: STRING_PUMPS,
    fairNs: 500,
  },
  {
    name: 'JSON bodies in slices',
    covers: ['api-machinery/codec/json-slices.ts'],
    run: (text) => [...readJsonSlices(Buffer.from(text))],
    frames: JSON_FRAMES,
    pumps: STRING_PUMPS,
    fairNs: 500,
  },
  {
    name: 'duplicates in JSON',
    covers: ['api-machinery/codec/json.ts'],
    run: (text) => findDuplicates(text, 100, 100),
    frames: JSON_FRAMES,
    pumps: STRING_PUMPS,
    fairNs: 500,
  },
  {
    name: 'JSON lists in steps',
    covers: ['api-machinery/codec/json-list.ts'],
    run: (text) => steps(parseJsonInSteps(list(text))),
    frames: [['{"a":"', '"}']],
    pumps: [...STRING_PUMPS, '{"a":1},', '{},', '{"items":['],
    fairNs: 500,
  },
  {
    name: 'manifests',
    covers: ['api-machinery/codec/documents.ts'],
    run: (text) => parseDocuments(text),
    frames: [
      ['a: "', '"'],
      ["a: '", "'"],
      ['a: |\n ', ''],
      ['{"a":"', '"}'],
    ],
    pumps: ['a: b\n', '- a\n', 'a: {b: c}\n', '\\\\', '"\n', '# a\n', '&a a: *a\n', ' a'],
    // The library is this slow; the API server reads longer texts on another thread with a timeout.
    fairNs: 20_000,
    longest: 4096,
  },
  {
    name: 'protobuf texts',
    covers: ['api-machinery/codec/protobuf/writer.ts'],
    run: (text) => protobuf.encodeMessage('core/v1.ConfigMap', { data: { a: text } }),
  },
  {
    name: 'field selectors',
    covers: ['api-machinery/meta/field-selectors.ts'],
    run: (text) => formatFieldSelector(parseFieldSelector(text)),
    frames: [['a=', '']],
    pumps: ['a=b,', 'a=\\,', 'a!=b,', '\\,'],
    fairNs: 500,
  },
  {
    name: 'label selectors',
    covers: ['api-machinery/meta/selectors.ts'],
    run: (text) => formatLabelSelector(parseLabelSelector(text)),
    frames: [
      ['a in (', ')'],
      ['a,a,a', ''],
      [`${'a,'.repeat(1000)}a`, ''],
    ],
    pumps: ['a,', 'a=b,', '!a,', 'a in (b),', 'b,', 'a>1,'],
    fairNs: 800,
  },
  {
    name: 'JSON paths',
    covers: ['api-machinery/meta/json-path-parser.ts'],
    run: parseJsonPath,
    frames: [
      ['{.a[', ']}'],
      ["{['", "']}"],
    ],
    pumps: ['.a', '[0]', "['a']", '[?(@.a==1)]', '{.a}', '{range .a}'],
  },
  {
    name: 'quantities',
    covers: ['api-machinery/meta/quantity.ts'],
    run: parseQuantity,
    frames: [
      ['0.', 'm'],
      ['1', 'Ki'],
      ['1e', ''],
    ],
  },
  {
    name: 'durations',
    covers: ['api-machinery/meta/duration.ts'],
    run: parseDuration,
    frames: [
      ['', 's'],
      ['0.', 'h'],
    ],
    pumps: ['1h', '1.5s'],
  },
  {
    name: 'cron',
    covers: [],
    run: parseCron,
    frames: [
      ['', ' * * * *'],
      ['TZ=', ' * * * * *'],
    ],
    pumps: ['1,', '1-2,', '*/2,', '* '],
  },
  {
    name: 'times',
    covers: ['api-machinery/schema/decode-scalar.ts'],
    run: (text) => [
      decodeScalar('Time', text),
      decodeScalar('Quantity', text),
      decodeScalar('bytes', text),
      parseTimeNanos(text),
    ],
    frames: [['2026-01-01T00:00:00.', 'Z']],
  },
  {
    name: 'bytes',
    covers: ['api-machinery/schema/decode-scalar.ts'],
    run: (text) => [
      decodeScalar('bytes', text),
      decodeScalar('MicroTime', text),
      decodeScalar('IntOrString', text),
    ],
    pumps: ['AAAA', 'AAAA\n', '====='],
  },
  {
    name: 'addresses',
    covers: ['api-machinery/meta/ip.ts'],
    run: (text) => [parseIp(text), parseIpRange(text), parsePercent(text)],
    frames: [
      ['1.2.3.4/', ''],
      ['::', ''],
    ],
    pumps: ['1.', '1:', '::'],
  },
  {
    name: 'names',
    covers: [],
    run: (text) => [
      dns1123LabelErrors(text),
      dns1123SubdomainErrors(text),
      dns1035LabelErrors(text),
      envVarNameErrors(text),
    ],
    frames: [['a', 'a']],
    pumps: ['a.', 'a-', 'a/'],
    fairNs: 200,
  },
  {
    name: 'labels and annotations',
    covers: ['api-machinery/meta/names.ts'],
    run: (text) => [
      validateLabels({ [text]: text }, 'labels'),
      validateAnnotations({ [text]: text }, 'annotations'),
    ],
    pumps: ['a/', 'a.'],
    fairNs: 300,
  },
  {
    name: 'PEM',
    covers: ['api-machinery/pki/pem.ts'],
    run: parsePem,
    frames: [['-----BEGIN A-----\n', '\n-----END A-----']],
    pumps: ['-----BEGIN A-----\n', '-----BEGIN A-----\nAAAA\n-----END A-----\n', '-----'],
    fairNs: 300,
  },
  {
    name: 'image tags',
    covers: ['api-machinery/schema/default-conditions.ts'],
    run: imageTag,
    pumps: ['a/', 'a:', 'a@'],
  },
  {
    name: 'field references',
    covers: ['api-machinery/schema/field-ref.ts'],
    run: (text) =>
      extractField(
        { metadata: { name: 'a', labels: { a: text }, annotations: { b: text } } },
        'metadata.labels',
      ),
    // Limit of all annotations of an object together.
    longest: 256 * 1024,
    fairNs: 1500,
  },
  {
    name: 'field reference keys',
    covers: ['api-machinery/schema/field-ref.ts'],
    run: (text) => extractField({ metadata: { name: 'a' } }, text),
    frames: [["metadata.labels['", "']"]],
  },
  {
    name: 'SPDY frames',
    covers: ['api-machinery/spdy/frame-reader.ts'],
    run: (text) => steps(createFrameReader().feed(Buffer.from(text, 'latin1'))),
    pumps: ['\0\0\0\u0001\0\0\0\0', '\u0080\u0003\0\u0006\0\0\0\u0004\0\0\0\u0001'],
    fairNs: 500,
  },
  {
    name: 'SPDY frames byte by byte',
    covers: ['api-machinery/spdy/frame-reader.ts'],
    run(text) {
      const reader = createFrameReader();
      const bytes = Buffer.from(`\0\0\0\u0001\0\u003f\u00ff\u00ff${text}`, 'latin1');
      for (let at = 0; at < bytes.length; at += 16) steps(reader.feed(bytes.subarray(at, at + 16)));
    },
    pumps: ['a'],
    fairNs: 500,
  },
  {
    name: 'SPDY headers',
    covers: [],
    run(text) {
      const count = Buffer.alloc(4);
      count.writeUInt32BE(Math.floor(text.length / NAME_AND_VALUE.length));
      return decodeHeaderBlock(Buffer.concat([count, Buffer.from(text, 'latin1')]));
    },
    pumps: [NAME_AND_VALUE, '\0\0\0\0'],
    fairNs: 1000,
  },
  {
    name: 'texts without an end',
    covers: ['api-machinery/kit/text/trim-end.ts'],
    run: (text) => [trimEnd(text, '/'), trimEnd(text, '-.')],
    frames: [['', 'a']],
  },
  {
    name: 'globs',
    covers: ['api-machinery/kit/text/glob.ts'],
    run: (text) => matchesGlob([...STARS, () => false], text),
    fairNs: 400,
  },
];
