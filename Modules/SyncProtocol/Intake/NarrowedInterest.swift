/// What was asked for, and then was not any more before all of it was here.
///
/// While it is not asked for the sender tells nothing of it, and what it sent before may be here only after that was asked
/// for again and compared: then it is compared once more.
struct NarrowedInterest {
  private var narrowed: Set<String> = []
  private var overtaken: Set<String> = []

  /// Takes note of a change of the interest.
  mutating func change(from former: Interest, to interest: Interest) {
    overtaken.formUnion(narrowed)
    narrowed.formUnion(interest.names(narrowedFrom: former))
  }

  /// Takes note that all is here which was sent before the present interest was known to the sender.
  ///
  /// - Returns: The collections that are to be compared once more.
  mutating func settle() -> Set<String> {
    defer { self = NarrowedInterest() }
    return overtaken
  }
}
