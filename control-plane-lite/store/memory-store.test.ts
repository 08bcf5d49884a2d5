import { describe } from 'vitest';
import { describeStore } from '#plane/store/conformance.ts';
import { createMemoryStore } from './memory-store.fixture.ts';

describe('the store in memory', () => {
  describeStore({ open: () => Promise.resolve(createMemoryStore()) });
});
