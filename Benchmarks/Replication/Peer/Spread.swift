import BenchmarkSupport

/// So many of all, in an order that is that of no store: the same for every contender.
func spread<ID>(_ count: Int, of all: [ID]) throws -> [ID] {
  guard all.count >= count else { throw BenchmarkError("there are less than \(count) documents") }
  var random = SplitMix64(seed: 5)
  return Array(all.shuffled(using: &random).prefix(count))
}
