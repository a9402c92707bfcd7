import CRDTCore
import DocStore

/// `system:metrics` and `system:vitals`.
extension SystemFacts {
  /// Counts since the engine was made, by name.
  var metrics: [TextKey: Int64] {
    let totals = requests.totals
    let kept = statements.totals
    return [
      "requests_completed": totals.completed, "requests_failed": totals.failed, "requests_slow": totals.slow,
      "request_rows": totals.rows, "request_elapsed_ns": totals.nanoseconds,
      "statements_parsed": kept.parsed, "statements_shared": kept.shared,
    ]
  }

  /// The state of the store and of the engine.
  func vitals() throws -> [TextKey: Value] {
    let statistics = try statistics()
    let figures: [TextKey: Int] = [
      "active_requests": requests.active.count, "collections": statistics.collections.count,
      "documents": statistics.documentCount, "tombstones": statistics.tombstoneCount,
      "oversize_documents": statistics.oversizeCount, "file_bytes": statistics.fileBytes,
      "used_bytes": statistics.usedBytes, "map_bytes": statistics.mapBytes,
      "snapshots": statistics.readerCount, "waiting_writers": statistics.waitingWriters,
      "connections": providers.connections.count, "damaged_pages": statistics.damages.count,
    ]
    var document = figures.mapValues { Value.int(Int64($0)) }
    // Above 300 the wall clock is behind the timestamps of this site's writes.
    document["clock_lead_seconds"] = .int(statistics.clockLead.components.seconds)
    document["_id"] = .string("\(site)")
    document["commits"] = .int(Int64(clamping: statistics.sequence))
    document["takes_writes"] = .bool(statistics.failure == nil)
    return document
  }
}
