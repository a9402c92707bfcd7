extension RowList {
  /// The gaps in which two versions of a list differ: the ranges between the chunks that both share.
  ///
  /// Either both come from one list by edits, which keep chunks in order, or they share nothing.
  ///
  /// - Returns: Ranges of both lists, in order; everything outside them is equal.
  /// - Complexity: O(*c*) in the chunks of both.
  static func gaps(from old: RowList, to new: RowList) -> [(old: Range<Int>, new: Range<Int>)] {
    var places: [ObjectIdentifier: Int] = [:]
    let start = zip(old.chunks, new.chunks).prefix { $0 === $1 }.count
    let end = zip(old.chunks.dropFirst(start).reversed(), new.chunks.dropFirst(start).reversed())
      .prefix { $0 === $1 }.count
    let last = (old: old.chunks.count - end, new: new.chunks.count - end)
    for chunk in start..<last.old { places[ObjectIdentifier(old.chunks[chunk])] = chunk }
    var gaps: [(old: Range<Int>, new: Range<Int>)] = []
    var next = (old: start, new: start)
    func close(_ oldChunk: Int, _ newChunk: Int) {
      let gap = (
        old: old.start(of: next.old)..<old.start(of: oldChunk),
        new: new.start(of: next.new)..<new.start(of: newChunk)
      )
      if !gap.old.isEmpty || !gap.new.isEmpty { gaps.append(gap) }
    }
    for chunk in start..<last.new {
      // A chunk whose old position is before the current one is out of order; its rows are compared.
      guard let former = places[ObjectIdentifier(new.chunks[chunk])], former >= next.old else { continue }
      close(former, chunk)
      next = (former + 1, chunk + 1)
    }
    close(last.old, last.new)
    return gaps
  }

  /// Some consecutive elements; chunks that are completely inside are shared.
  func slice(_ range: Range<Int>) -> RowList {
    var slice = RowList()
    for (number, chunk) in chunks.enumerated() {
      let part = (start(of: number)..<ends[number]).clamped(to: range)
      if part.count == chunk.elements.count {
        slice.add(chunk)
      } else if !part.isEmpty {
        let offset = start(of: number)
        slice.add(Chunk(Array(chunk.elements[part.lowerBound - offset..<part.upperBound - offset])))
      }
    }
    return slice
  }
}
