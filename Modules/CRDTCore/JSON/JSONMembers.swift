/// The members of a JSON object, read one by one.
///
/// A member that is null counts as missing. After the last one, ``finish()`` reports a member that was never
/// read. Each mistake has the place of the member, and its line if the reader knows the lines of the text.
package struct JSONMembers<Failure: JSONMemberError> {
  /// What the members were read from.
  package let source: String
  private let path: String
  /// The members that were not read yet.
  private var unread: [TextKey: Value]
  /// The names of the members that were asked for.
  private var known: [TextKey] = []
  /// The lines of the object; `nil` if they are unknown.
  package let lines: JSONTextLines?

  /// Reads the members of an object.
  ///
  /// - Parameters:
  ///   - members: The members.
  ///   - source: What they were read from, for messages.
  package init(_ members: [TextKey: Value], of source: String = "") {
    (unread, self.source, path, lines) = (members, source, "", nil)
  }

  /// Reads the members of a value that must be an object.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - source: What it was read from, for messages.
  ///   - path: Its place there; empty for the outermost value.
  ///   - lines: The lines of the value.
  /// - Throws: `noObject` if it is something else.
  package init(
    _ value: Value, of source: String = "", at path: String = "", lines: JSONTextLines? = nil
  ) throws(Failure) {
    guard case .map(let members) = value else {
      throw Failure(
        JSONMistake(
          source: lines?.origin ?? source, path: path, name: "",
          line: lines?.origin == nil ? lines?.line : nil, reason: .noObject))
    }
    (unread, self.source, self.path, self.lines) = (members, source, path, lines)
  }

  // MARK: - Mistakes

  /// The place of a member.
  private func path(to name: TextKey) -> String { path.isEmpty ? name.text : "\(path).\(name)" }

  /// The error for a mistake in a member, or for a missing one.
  ///
  /// - Parameters:
  ///   - name: The member.
  ///   - reason: What is wrong with it.
  ///   - line: The line; by default the one on which its value begins, or else the object.
  /// - Returns: The error, to throw.
  package func fault(_ name: TextKey, _ reason: JSONMistake.Reason, line: Int? = nil) -> Failure {
    let place = lines?.members[name] ?? lines
    return Failure(
      JSONMistake(
        source: place?.origin ?? source, path: path(to: name), name: name,
        line: place?.origin == nil ? line ?? place?.line : nil, reason: reason))
  }

  /// The error for a member that breaks a rule of the caller.
  ///
  /// - Parameters:
  ///   - name: The member.
  ///   - words: What is wrong with it, in words that follow its name.
  /// - Returns: The error, to throw.
  package func fault(_ name: TextKey, _ words: String) -> Failure { fault(name, .words(words)) }

  /// Ends the reading.
  ///
  /// - Throws: `unread` for the first member that was not read.
  package func finish() throws(Failure) { if let first = leftovers.first { throw first } }

  /// The mistakes of all members that were not read, in the order of their lines.
  package var leftovers: [Failure] {
    func line(_ name: TextKey) -> Int { lines?.members[name]?.nameLine ?? 0 }
    return unread.keys.sorted { (line($0), $0) < (line($1), $1) }.map {
      fault($0, .unread(known: known), line: lines?.members[$0]?.nameLine)
    }
  }

  // MARK: - Members

  /// Any value; `nil` if the member is missing.
  package mutating func value(_ name: TextKey) -> Value? {
    known.append(name)
    guard let value = unread.removeValue(forKey: name), value != .null else { return nil }
    return value
  }

  /// A value of a kind that only the caller knows.
  ///
  /// - Parameters:
  ///   - name: The member.
  ///   - words: What is wrong with the member where it is of another kind, in words that follow its name.
  ///   - convert: Makes the result; `nil` for a value of another kind.
  /// - Returns: The result; `nil` if the member is missing.
  /// - Throws: `words`.
  package mutating func value<Result>(
    _ name: TextKey, or words: @autoclosure () -> String, _ convert: (Value) -> Result?
  ) throws(Failure) -> Result? {
    guard let value = value(name) else { return nil }
    guard let result = convert(value) else { throw fault(name, words()) }
    return result
  }

  /// A text.
  ///
  /// - Parameters:
  ///   - name: The member.
  ///   - limit: The maximum length, in bytes of UTF-8.
  /// - Returns: The text; `nil` if the member is missing.
  /// - Throws: `kind` or `bounds`.
  package mutating func text(
    _ name: TextKey, bytes limit: Int = Failure.textBytes.upperBound
  ) throws(Failure) -> String? {
    guard let value = value(name) else { return nil }
    let bounds = Failure.textBytes.lowerBound...limit
    guard case .string(let text) = value else { throw fault(name, .kind(.text(bytes: bounds))) }
    guard bounds.contains(text.utf8.count) else { throw fault(name, .bounds(.text(bytes: bounds))) }
    return text
  }

  /// A required text.
  ///
  /// - Parameters:
  ///   - name: The member.
  ///   - limit: The maximum length, in bytes of UTF-8.
  /// - Returns: The text.
  /// - Throws: `missing`, `kind` or `bounds`.
  package mutating func requiredText(
    _ name: TextKey, bytes limit: Int = Failure.textBytes.upperBound
  ) throws(Failure) -> String {
    guard let text = try text(name, bytes: limit) else {
      throw fault(name, .missing(.text(bytes: Failure.textBytes.lowerBound...limit)))
    }
    return text
  }

  /// True or false; `nil` if the member is missing.
  ///
  /// - Throws: `kind`.
  package mutating func flag(_ name: TextKey) throws(Failure) -> Bool? {
    guard let value = value(name) else { return nil }
    guard case .bool(let flag) = value else { throw fault(name, .kind(.flag)) }
    return flag
  }

  /// A whole number.
  ///
  /// - Parameters:
  ///   - name: The member.
  ///   - range: The bounds.
  /// - Returns: The number; `nil` if the member is missing.
  /// - Throws: `kind` or `bounds`.
  package mutating func integer(
    _ name: TextKey, in range: ClosedRange<Int> = Int.min...Int.max
  ) throws(Failure) -> Int? {
    let whole: Int64?
    switch value(name) {
    case nil: return nil
    case .int(let number)?: whole = number
    case .double(let number)? where Failure.areDoublesIntegers: whole = Self.whole(number)
    default: whole = nil
    }
    guard let whole else { throw fault(name, .kind(.integer(range))) }
    guard let number = Int(exactly: whole), range.contains(number) else {
      throw fault(name, .bounds(.integer(range)))
    }
    return number
  }

  /// The integer that a number is; `nil` if it has a fraction or too many digits.
  ///
  /// It does not round, which `Int64(exactly:)` does with the C library of mathematics: a debug build of this
  /// module is linked without that.
  private static func whole(_ number: Double) -> Int64? {
    guard number >= -0x1p63, number < 0x1p63 else { return nil }
    let whole = Int64(number)
    return Double(whole) == number ? whole : nil
  }

  /// The members of an object that has any members, such as arguments; `nil` if the member is missing.
  ///
  /// - Throws: `kind`.
  package mutating func map(_ name: TextKey) throws(Failure) -> [TextKey: Value]? {
    guard let value = value(name) else { return nil }
    guard case .map(let map) = value else { throw fault(name, .kind(.object)) }
    return map
  }

  /// A list.
  ///
  /// - Parameters:
  ///   - name: The member.
  ///   - count: The number of elements that it may have.
  /// - Returns: The list; `nil` if the member is missing.
  /// - Throws: `kind` or `bounds`.
  package mutating func list(
    _ name: TextKey, count: ClosedRange<Int> = 0...Int.max
  ) throws(Failure) -> [Value]? {
    guard let value = value(name) else { return nil }
    guard case .array(let list) = value else { throw fault(name, .kind(.list(count: count))) }
    guard count.contains(list.count) else { throw fault(name, .bounds(.list(count: count))) }
    return list
  }

  /// The members of an object within this one; `nil` if the member is missing.
  ///
  /// - Throws: `noObject`.
  package mutating func object(_ name: TextKey) throws(Failure) -> Self? {
    guard let value = value(name) else { return nil }
    return try Self(value, of: source, at: path(to: name), lines: lines?.members[name])
  }

  /// A list of objects; `nil` if the member is missing.
  ///
  /// - Throws: `kind` if the member is not a list; `noObject` for an element.
  package mutating func objects(_ name: TextKey) throws(Failure) -> [Self]? {
    guard let list = try list(name) else { return nil }
    let lines = lines?.members[name]?.elements
    var objects: [Self] = []
    for (index, element) in list.enumerated() {
      objects.append(
        try Self(element, of: source, at: "\(path(to: name))[\(index)]", lines: lines?[index]))
    }
    return objects
  }
}
