extension Node {
  /// Writes a value here: a map key by key, anything else as a register or a counter.
  ///
  /// - Throws: `isACounter`, with the path from here, for a number over a counter.
  mutating func write(
    _ value: Value, _ pen: DocumentState.Pen, _ manner: CounterManner, isUnderFloor: Bool
  ) throws(DocumentError) {
    switch value {
    case .map(let fields):
      let isUnderFloor = isUnderFloor || effectiveFloor > .zero
      // An empty map has no fields that could show when it was written.
      if fields.isEmpty || register?.content != .map { put(pen.register(.map)) }
      makeRoom(for: fields.keys.map { [$0] })
      for (key, value) in fields {
        try withChild(key) { child throws(DocumentError) in
          do throws(DocumentError) {
            try child.write(value, pen, manner, isUnderFloor: isUnderFloor)
          } catch {
            throw error.below([key])
          }
        }
      }
    case .counter(let start) where manner == .upsert:
      startCounter(at: start, pen, isUnderFloor: isUnderFloor)
    case .counter(let start): put(pen.register(.counter(CounterState(base: start))))
    case .int where manner != .replace && showsCounter, .double where manner != .replace && showsCounter:
      throw DocumentError(
        .isACounter,
        "a plain number cannot take the place of a counter: restart the counter at the number, "
          + "or replace the counter with the number")
    case .decimal(let number): put(pen.register(.value(.string(number.text))))
    case .null, .bool, .int, .double, .string, .bytes, .array, .attachment:
      put(pen.register(.value(value)))
    }
  }

  /// Whether a reader sees a counter here.
  var showsCounter: Bool { register?.isCounter == true && !hasVisibleChild }

  /// Adds a counter that an application made: default data, whose start value is an increment.
  ///
  /// If nothing was ever written here, the counter belongs to the epoch of first increments, so counters that
  /// start independently add up. An existing counter does not change. An existing integer becomes the
  /// counter's base, under its own stamp. If there is anything else, or something was removed before, the
  /// counter begins an epoch of its own.
  private mutating func startCounter(at start: Int64, _ pen: DocumentState.Pen, isUnderFloor: Bool) {
    guard !showsCounter else { return }
    let writer = Writer(site: pen.stamp.site, birth: pen.birth)
    if case .value(.int(let number))? = register?.content, !hasVisibleChild {
      var state = CounterState(base: number)
      state.add(start, by: writer, at: pen.stamp.reading)
      register?.content = .counter(state)
    } else if register == nil, floor == nil, !isUnderFloor, !hasVisibleChild {
      var state = CounterState(base: 0)
      if start != 0 { state.add(start, by: writer, at: pen.stamp.reading) }
      put(Register(stamp: .zero, birth: .zero, content: .counter(state)))
    } else {
      put(pen.register(.counter(CounterState(base: start))))
    }
  }
}

extension DocumentError {
  /// Returns the same error, with a path that begins further up.
  func below(_ path: some Sequence<TextKey>) -> DocumentError {
    DocumentError(code, message, path: Array(path) + self.path)
  }
}
