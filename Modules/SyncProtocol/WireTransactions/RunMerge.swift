import CRDTCore
import DocStore
import Failpoints

/// Merges a run in a write transaction: all of it or nothing, in two steps.
///
/// Each operation delta is rebuilt on top of the local state. The sum of the hashes of these states must
/// equal the one in the run, and so must the sum of the resulting states.
struct RunMerge {
  let run: IncomingRun
  let write: WriteTransaction

  enum Outcome {
    /// All of it fits and can be stored.
    case prepared([PreparedMerge])
    /// All of it is already applied.
    case known
    case missingBase
  }

  func prepare() throws -> Outcome {
    if let merges = try? prepareAtOnce() { return .prepared(merges) }
    return try prepareInSteps()
  }

  /// Merges each document as it is read, and expects that all bases are present, as they nearly always are.
  ///
  /// - Returns: `nil` when a base is missing.
  /// - Throws: Any error of the attempt; `prepareInSteps` finds the cause.
  private func prepareAtOnce() throws -> [PreparedMerge]? {
    var check = RunCheck()
    var codec = RunCodec(run.head)
    let stamp = Stamp(reading: run.head.reading, site: run.head.site)
    var merges: [PreparedMerge] = []
    merges.reserveCapacity(run.ids.count)
    for member in try write.storedOrder(of: run.ids, in: run.collection) {
      var former = Summary.zero
      let id = run.ids[member]
      let merge = try write.prepare(at: stamp, id: id, in: run.collection) { existing, own, tables in
        former = existing.summary
        return try run.withEntries(of: member) { entries in
          try codec.apply(entries, to: existing, own: own, tables: &tables)
        }
      }
      guard let merge, let summary = merge.summary else { return nil }
      check.add(from: former, to: summary)
      merges.append(merge)
    }
    return check == run.check ? merges : nil
  }

  private func prepareInSteps() throws -> Outcome {
    guard let collection = try write.collection(run.collection) else { return .missingBase }
    let sites = write.sites
    var here = RunCheck()
    var wires = ByteWriter(capacity: run.ids.count * 48)
    var ends: [Int] = []
    ends.reserveCapacity(run.ids.count)
    var isLater = true
    for (member, id) in run.ids.enumerated() {
      let isHere: Void? = try write.withRecord(collection, id) { record, summary in
        here.add(from: summary, to: summary)
        guard isLater else { return }
        let existing = StoredDocument(record.bytes, summary: summary)
        isLater = try run.withEntries(of: member) { entries in
          try run.head.appendOperationDelta(entries, onto: existing, sites: sites, to: &wires)
        }
        ends.append(wires.count)
      }
      guard isHere != nil else { return .missingBase }
    }
    if here.hasSameResult(as: run.check) { return .known }
    guard isLater, here.hasSameBase(as: run.check) || SyncDefect.runUnchecked.isPlanted else {
      return .missingBase
    }
    return try merge(wires.bytes, ends)
  }

  private func merge(_ wires: [UInt8], _ ends: [Int]) throws -> Outcome {
    var merges: [PreparedMerge] = []
    merges.reserveCapacity(ends.count)
    var check = RunCheck()
    var start = 0
    for (id, end) in zip(run.ids, ends) {
      let wire = wires.span.bytes.extracting(start..<end)
      start = end
      let merge: PreparedMerge
      do {
        merge = try write.prepare(wire: wire, id: id, in: run.collection, checkingResult: false)
      } catch {
        do throws(CodecError) {
          try WireDocument.validate(wire)
        } catch {
          throw SyncError(error, in: "a run in \(run.collection)", base: 0)
        }
        throw error
      }
      guard let summary = merge.summary else { return .missingBase }
      check.add(from: summary, to: summary)
      merges.append(merge)
    }
    return check.hasSameResult(as: run.check) || SyncDefect.runUnchecked.isPlanted
      ? .prepared(merges) : .missingBase
  }
}
