import CRDTCore

extension FunctionDefinition {
  /// The functions of dates and of the statement itself.
  ///
  /// Dates are ISO 8601 texts with a time zone or milliseconds since 1970. The result for a text is a text
  /// with the same offset and in the same spelling; the result for a number is a number.
  static let dates: [FunctionDefinition] = [
    .init(
      .clock, [.string], arity: 0...2, traits: .dependsOnMachine,
      on: .values { (evaluator, operands) throws(QueryError) in try evaluator.clock(operands) }),
    .init(
      .dateAdd, [.date, .part, .integer, .string], arity: 3...5,
      on: .date { (evaluator, instant, operands) throws(QueryError) in
        try evaluator.moved(instant, operands, backwards: false)
      }),
    .init(
      .dateSub, [.date, .part, .integer, .string], arity: 3...5,
      on: .date { (evaluator, instant, operands) throws(QueryError) in
        try evaluator.moved(instant, operands, backwards: true)
      }),
    .init(
      .dateDiff, [.date, .date, .part],
      on: .date { _, instant, operands in Evaluator.difference(instant, operands) }),
    .init(
      .datePart, [.date, .part, .string], arity: 2...3,
      on: .date { (evaluator, instant, operands) throws(QueryError) in
        try evaluator.part(of: instant, operands)
      }),
    .init(
      .dateTrunc, [.date, .part], on: .date { _, instant, operands in Evaluator.truncated(instant, operands) }
    ),
    .init(
      .dateFormat, [.date, .string], arity: 2...3,
      on: .date { (evaluator, instant, operands) throws(QueryError) in
        try evaluator.formatted(instant, operands, 1)
      }),
    .init(
      .dateCast, [.string], arity: 1...2,
      on: .values { (evaluator, operands) throws(QueryError) in try evaluator.dateCast(operands) }),
    .init(
      .dateRange, [.date, .date, .part, .integer, .string], arity: 3...6,
      on: .values { (evaluator, operands) throws(QueryError) in try evaluator.dateRange(operands) }),
    .init(
      .zoneOffset, [.string], arity: 1...2, traits: .dependsOnMachine,
      on: .values { (evaluator, operands) throws(QueryError) in try evaluator.zoneOffset(operands) }),
    .init(
      .durationCast, [.duration, .part], arity: 1...2,
      on: .values { _, operands in Evaluator.durationCast(operands) }),
    .init(
      .durationFormat, [.integer, .part], arity: 1...2,
      on: .values { _, operands in Evaluator.durationFormat(operands) }),
    .init(
      .requestInfo, [], traits: .dependsOnMachine,
      on: .values { (evaluator, _) throws(QueryError) in try evaluator.requestInfo() }),
  ]
}

extension Evaluator {
  /// `date_add` and `date_sub`: `(date, part, n[, format[, zone]])`.
  fileprivate mutating func moved(
    _ instant: Instant, _ operands: [Value], backwards: Bool
  ) throws(QueryError) -> Value? {
    guard let part = Self.part(operands[1]), let count = operands[2].wholeNumber, count != .min,
      let result = part.added(to: instant, backwards ? -count : count)
    else { return nil }
    return try formatted(result, operands, 3)
  }

  /// `date_diff(date1, date2, part)`.
  fileprivate static func difference(_ instant: Instant, _ operands: [Value]) -> Value? {
    guard let other = Self.instant(operands[1]), let part = part(operands[2]) else { return nil }
    return part.difference(instant, other).map(Value.int)
  }

  /// `date_part(date, part[, zone])`.
  fileprivate func part(of instant: Instant, _ operands: [Value]) throws(QueryError) -> Value? {
    guard let part = Self.part(operands[1]) else { return nil }
    return try inZone(instant, operands, 2).map(part.value)
  }

  /// `date_trunc(date, part)`.
  fileprivate static func truncated(_ instant: Instant, _ operands: [Value]) -> Value? {
    part(operands[1])?.truncated(instant).map { value($0, like: operands[0]) }
  }

  static func instant(_ value: Value) -> Instant? {
    if case .string(let text) = value { return DateText.parse(text) }
    return value.wholeNumber.flatMap { Instant(milliseconds: $0) }
  }

  private static func value(_ instant: Instant, like operand: Value) -> Value {
    guard case .string = operand else { return .int(instant.milliseconds) }
    return .string(DateText.text(of: instant, as: spelling(of: operand)))
  }

  /// How a date is spelled; milliseconds have the spelling of stored dates.
  private static func spelling(of operand: Value) -> DateSpelling {
    guard case .string(let text) = operand else { return .stored }
    return DateText.read(text)?.spelling ?? .stored
  }

  /// The moment in the format and the zone of the operands from `index` on, if there are such operands.
  fileprivate mutating func formatted(
    _ instant: Instant, _ operands: [Value], _ index: Int
  ) throws(QueryError) -> Value? {
    guard operands.count > index else { return Self.value(instant, like: operands[0]) }
    guard case .string(let text) = operands[index], let format = DateFormat(text),
      let instant = try inZone(instant, operands, index + 1)
    else { return nil }
    let result = format.text(of: instant, as: Self.spelling(of: operands[0]))
    try charge(result.utf8.count)
    return .string(result)
  }

  private static func part(_ value: Value) -> DatePart? {
    if case .string(let name) = value { DatePart(name: name) } else { nil }
  }

  /// The moment in the zone of the operand at `index`, if there is one.
  private func inZone(
    _ instant: Instant, _ operands: [Value], _ index: Int
  ) throws(QueryError) -> Instant? {
    guard operands.count > index else { return instant }
    guard case .string(let zone) = operands[index] else { return nil }
    return try offset(of: zone, at: instant).flatMap { instant.with(offset: $0) }
  }

  /// Seconds east of Greenwich, of `UTC`, `Z`, `+01:00`, or a zone name that the machine knows.
  private func offset(of zone: String, at instant: Instant) throws(QueryError) -> Int? {
    if ["UTC", "GMT"].contains(where: zone.uppercased().isSame) { return 0 }
    var reader = DigitReader(zone)
    if let offset = reader.zone(), reader.isAtEnd { return offset }
    guard let zones = scope.context?.zoneOffset else { throw .unsupported("a named time zone here") }
    return zones(zone, instant.milliseconds)
  }

  /// `clock([format[, zone]])`: the statement's start, as a number unless there is a format.
  fileprivate func clock(_ operands: [Value]) throws(QueryError) -> Value? {
    // Constants are evaluated before there is a statement; this function is evaluated later.
    guard let time = scope.context?.wallClock else { throw .unsupported("the function clock here") }
    guard let now = Instant(milliseconds: time), let instant = try inZone(now, operands, 1)
    else { return nil }
    guard let first = operands.first else { return .int(time) }
    guard case .string(let text) = first else { return nil }
    return DateFormat(text).map { .string($0.text(of: instant)) }
  }

  /// `request_info()`: the statement itself, its start, and likely mistakes in it.
  fileprivate func requestInfo() throws(QueryError) -> Value {
    guard let context = scope.context, let time = context.wallClock else {
      throw .unsupported("the function request_info here")
    }
    var info: [TextKey: Value] = ["request_id": .int(Int64(clamping: context.requestNumber))]
    if let appID = context.appID { info["app_id"] = .string(appID) }
    let hints = context.hints
    if !hints.isEmpty { info["hints"] = .array(hints.map { .string($0) }) }
    info["start_time"] = Instant(milliseconds: time).map { .string(DateText.text(of: $0)) }
    return .map(info)
  }

  /// `tz_offset(date[, format])`, or `tz_offset(zone, 'TZN')` at the statement's start.
  ///
  /// The result is in minutes east of Greenwich.
  fileprivate func zoneOffset(_ operands: [Value]) throws(QueryError) -> Value? {
    guard case .string(let text) = operands[0] else { return nil }
    guard operands.count > 1 else { return DateText.parse(text).map { .int(Int64($0.offset / 60)) } }
    guard case .string(let format) = operands[1] else { return nil }
    guard format.isSame(as: "TZN") else {
      return DateFormat(format)?.parse(text).map { .int(Int64($0.offset / 60)) }
    }
    guard let now = Instant(milliseconds: scope.context?.wallClock ?? 0),
      let offset = try offset(of: text, at: now)
    else { return nil }
    return .int(Int64(offset / 60))
  }

  /// `date_cast(text[, format])` in milliseconds since 1970.
  fileprivate func dateCast(_ operands: [Value]) throws(QueryError) -> Value? {
    guard case .string(let text) = operands[0] else { return nil }
    guard operands.count > 1 else { return DateText.parse(text).map { .int($0.milliseconds) } }
    guard case .string(let format) = operands[1] else { return nil }
    return DateFormat(format)?.parse(text).map { .int($0.milliseconds) }
  }

  /// `date_range(start, end, part[, step[, format[, zone]]])`: from the start to before the end.
  fileprivate mutating func dateRange(_ operands: [Value]) throws(QueryError) -> Value? {
    let step = operands.count > 3 ? operands[3].wholeNumber : 1
    guard let start = Self.instant(operands[0]), let end = Self.instant(operands[1]),
      let part = Self.part(operands[2]), part.isUnit, let step, step != 0, step.magnitude < 1 << 31
    else { return nil }
    var dates: [Value] = []
    var count: Int64 = 0
    // Each date is computed from the start, so that months keep its day.
    while let next = part.added(to: start, count * step),
      step > 0 ? next.milliseconds < end.milliseconds : next.milliseconds > end.milliseconds
    {
      try charge(32)
      guard let date = try formatted(next, operands, 4) else { return nil }
      dates.append(date)
      count += 1
    }
    return .array(dates)
  }

  /// `duration_cast(duration[, part])` in milliseconds, or in whole parts.
  fileprivate static func durationCast(_ operands: [Value]) -> Value? {
    var milliseconds = operands[0].wholeNumber
    if case .string(let text) = operands[0] { milliseconds = DurationText.parse(text) }
    guard let milliseconds else { return nil }
    guard operands.count > 1 else { return .int(milliseconds) }
    return part(operands[1])?.milliseconds.map { .int(milliseconds / $0) }
  }

  /// `duration_format(duration[, part])` of a number of milliseconds, or of parts.
  fileprivate static func durationFormat(_ operands: [Value]) -> Value? {
    guard let number = operands[0].wholeNumber else { return nil }
    guard operands.count > 1 else { return .string(DurationText.text(milliseconds: number)) }
    guard let unit = part(operands[1])?.milliseconds else { return nil }
    let (milliseconds, overflow) = number.multipliedReportingOverflow(by: unit)
    return overflow ? nil : .string(DurationText.text(milliseconds: milliseconds))
  }
}
