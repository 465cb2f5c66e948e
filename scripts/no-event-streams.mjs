// Stands in for the event streams of the SDKs' protocols, which no operation of a model can have: such operations are refused when their
// file is loaded.
const fail = () => {
  throw new Error('Operations of models have no event streams.');
};

export class EventStreamSerde {
  constructor() {
    fail();
  }
}
export const eventStreamSerdeProvider = fail;
