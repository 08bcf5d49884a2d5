import { describe, expect, it } from 'vitest';
import type { ApiObject, Resource } from '../resources/contract.ts';
import { cachedOf, content, maps, objectOf, requestOf, resourceOf } from './content.fixture.ts';

/** A resource like custom ones: no built-in type, converted by a webhook. */
const converted = (fromStorage: (object: ApiObject) => Promise<ApiObject>): Resource => {
  const { typeRef: _built, ...schema } = maps.schema;
  return resourceOf('ConfigMap', {
    schema: { ...schema, model: maps.schema.model },
    stored: maps,
    conversion: { fromStorage, toStorage: (object) => object, takesTime: true },
  });
};

async function watch(
  resource: Resource,
): Promise<{ readonly events: readonly unknown[]; readonly ends: readonly string[] }> {
  const form = content.watching(requestOf({}), resource);
  const { encoder } = form;
  const events: unknown[] = [];
  const ends: string[] = [];
  const sink = form.pass?.({
    write: (bytes) => void events.push(JSON.parse(bytes.toString())),
    end: (reason) => void ends.push(reason),
  });
  const added = ['a', 'b'].map((name) => encoder.encode('ADDED', cachedOf(objectOf(name))));
  sink?.write(Buffer.concat(added));
  sink?.write(encoder.bookmark(9, true));
  sink?.write(encoder.encode('DELETED', cachedOf(objectOf('c'))));
  sink?.end('expired');
  await sink?.drained?.();
  return { events, ends };
}

describe('a watch with asynchronous conversion', () => {
  it('delivers events in order, converted', async () => {
    let waits = 4;
    const { events, ends } = await watch(
      converted(async (object) => {
        // The earlier ones take longer.
        for (waits -= 1; waits > 0; waits -= 1) await Promise.resolve();
        return { ...object, data: { for: object.metadata.name } };
      }),
    );
    expect(events).toMatchObject([
      { type: 'ADDED', object: { kind: 'ConfigMap', data: { for: 'a' } } },
      { type: 'ADDED', object: { data: { for: 'b' } } },
      { type: 'BOOKMARK', object: { kind: 'ConfigMap', metadata: { resourceVersion: '9' } } },
      { type: 'DELETED', object: { data: { for: 'c' } } },
    ]);
    expect(ends).toEqual(['expired']);
  });

  it('ends where the conversion fails', async () => {
    const { events, ends } = await watch(
      converted((object) =>
        object.metadata.name === 'b' ? Promise.reject(new Error('no response')) : Promise.resolve(object),
      ),
    );
    expect(events).toMatchObject([
      { type: 'ADDED', object: { metadata: { name: 'a' } } },
      { type: 'ERROR', object: { kind: 'Status', code: 500, message: 'conversion failed: no response' } },
    ]);
    expect(ends).toEqual(['unavailable']);
  });
});
